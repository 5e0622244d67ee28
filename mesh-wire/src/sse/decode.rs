//! The decoder of event streams.

use std::mem;

use thiserror::Error;

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The name of the event; `message` if the stream has none.
    pub event: String,
    /// The data, without the last line break.
    pub data: String,
    /// The id of this event, or of the last event before it that had one.
    pub id: String,
}

/// An event that is larger than the limit of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// Decodes a stream that arrives in chunks of any size.
///
/// ```
/// use mesh_wire::sse::Decoder;
///
/// let mut decoder = Decoder::new(1024);
/// assert!(decoder.feed(b"event: update\ndata: {\"ti").unwrap().is_empty());
/// let events = decoder.feed(b"tle\":1}\n\n").unwrap();
/// assert_eq!(events[0].data, r#"{"title":1}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    limit: usize,
    line: Vec<u8>,
    /// Whether the last byte was a carriage return; a line feed after it does not end another line.
    after_return: bool,
    started: bool,
    event: String,
    /// The lines of data so far, each with a line break.
    data: String,
    id: String,
    retry: Option<u64>,
}

impl Decoder {
    /// Creates a decoder for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Decodes the next bytes and returns the events that they complete.
    ///
    /// # Errors
    /// [`EventTooLarge`] if an event exceeds the limit. The decoder cannot be used afterwards.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_return = mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = mem::take(&mut self.line);
                    events.extend(self.end_of_line(&line));
                }
                byte => {
                    if self.line.len() + self.data.len() >= self.limit {
                        return Err(EventTooLarge { limit: self.limit });
                    }
                    self.line.push(*byte);
                }
            }
        }
        Ok(events)
    }

    /// Returns the id to send as `Last-Event-ID` when reconnecting; empty if no event had one.
    pub fn last_id(&self) -> &str {
        &self.id
    }

    /// Returns the delay before reconnecting in milliseconds, if the stream has set one.
    pub fn retry_millis(&self) -> Option<u64> {
        self.retry
    }

    fn end_of_line(&mut self, line: &[u8]) -> Option<Event> {
        let text = String::from_utf8_lossy(line);
        let mut text = text.as_ref();
        if !mem::replace(&mut self.started, true) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if text.is_empty() {
            return self.dispatch();
        }
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok();
            }
            // This is a comment, whose field name is empty, or an unknown field.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = mem::take(&mut self.event);
        let mut data = mem::take(&mut self.data);
        // Events without data are ignored.
        data.pop()?;
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Event { event, data, id: self.id.clone() })
    }
}
