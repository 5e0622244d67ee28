//! The decoder of event streams.

use std::fmt;

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its kind; `message` where the stream names none.
    pub event: String,
    /// Its data, without the last line break.
    pub data: String,
    /// The id in force: of this event, or of the last one before it that had one.
    pub id: String,
}

/// An event is larger than the reader was told to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The bound, in bytes.
    pub limit: usize,
}

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of the stream is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for EventTooLarge {}

/// Reads a stream from the beginning, in pieces of whatever size.
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
    /// Whether the last byte was a carriage return, so that a line feed after it ends no line.
    after_return: bool,
    begun: bool,
    event: String,
    data: String,
    has_data: bool,
    id: String,
    retry: Option<u64>,
}

impl Decoder {
    /// A reader that takes events of at most that many bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            begun: false,
            event: String::new(),
            data: String::new(),
            has_data: false,
            id: String::new(),
            retry: None,
        }
    }

    /// Takes the next bytes and returns the events that end in them.
    ///
    /// # Errors
    /// When an event grows past the bound. What follows means nothing then.
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

    /// The id to send as `Last-Event-ID` after a broken connection; empty where none has come.
    pub fn last_id(&self) -> &str {
        &self.id
    }

    /// Milliseconds to wait before connecting again, where the stream has said so.
    pub fn retry_millis(&self) -> Option<u64> {
        self.retry
    }

    fn end_of_line(&mut self, line: &[u8]) -> Option<Event> {
        let text = String::from_utf8_lossy(line);
        let mut text = text.as_ref();
        if !std::mem::replace(&mut self.begun, true) {
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
            // A comment, whose name is empty, or a field of another time.
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
