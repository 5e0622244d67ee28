//! The decoder of event streams.

use std::fmt;

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

/// An event is larger than the limit of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of the stream is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for EventTooLarge {}

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
#[derive(Clone, Debug)]
pub struct Decoder {
    limit: usize,
    line: Vec<u8>,
    /// Whether the last byte was a carriage return; a line feed after it does not end another line.
    after_return: bool,
    started: bool,
    event: String,
    data: String,
    has_data: bool,
    id: String,
    retry: Option<u64>,
}

impl Decoder {
    /// Creates a decoder for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            started: false,
            event: String::new(),
            data: String::new(),
            has_data: false,
            id: String::new(),
            retry: None,
        }
    }

    /// Decodes the next bytes and returns the events that they complete.
    ///
    /// # Errors
    /// [`EventTooLarge`] if an event exceeds the limit. The decoder cannot be used afterwards.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.line);
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
        if !std::mem::replace(&mut self.started, true) {
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
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok();
            }
            // A comment, whose name is empty, or an unknown field.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Event { event, data, id: self.id.clone() })
    }
}
