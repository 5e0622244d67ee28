//! A reader of server-sent events with timeouts.

use std::io::{BufReader, ErrorKind, Read};
use std::time::{Duration, Instant};

use super::{Exchange, Socket};

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The event type.
    pub kind: String,
    /// The data, with lines joined.
    pub data: String,
    /// The event id.
    pub id: Option<String>,
}

/// The result of waiting for an event.
#[derive(Debug)]
pub enum Next {
    /// An event.
    Event(Event),
    /// No event within the time.
    Silence,
    /// The end of the body.
    End,
    /// The end of the connection before the end of the body.
    Broken,
}

/// An open stream.
#[derive(Debug)]
pub struct Stream {
    stream: BufReader<Socket>,
    /// The bytes left of the current chunk; `None` without chunked encoding.
    chunk: Option<u64>,
    line: Vec<u8>,
    event: Event,
    /// The values of the `retry` fields received so far.
    pub retries: Vec<String>,
    /// The number of comment lines received so far.
    pub comments: usize,
    /// The lines with an unknown field.
    pub unknown_lines: Vec<String>,
}

impl Stream {
    /// Reads events from a response whose head has been read.
    #[must_use]
    pub fn new(exchange: Exchange) -> Self {
        let is_chunked = exchange.head.header("transfer-encoding").is_some();
        Self {
            chunk: is_chunked.then_some(0),
            stream: exchange.connection.into_stream(),
            line: Vec::new(),
            event: Event::default(),
            retries: Vec::new(),
            comments: 0,
            unknown_lines: Vec::new(),
        }
    }

    /// Waits for the next event.
    pub fn next(&mut self, patience: Duration) -> Next {
        let deadline = Instant::now() + patience;
        loop {
            match self.byte(deadline) {
                Ok(Some(b'\n')) => {
                    let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                    if let Some(event) = self.process_line(line.trim_end_matches('\r')) {
                        return Next::Event(event);
                    }
                }
                Ok(Some(byte)) => self.line.push(byte),
                Ok(None) => return Next::End,
                Err(next) => return next,
            }
        }
    }

    fn process_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (event != Event::default()).then_some(event);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => self.comments += 1,
            "event" => value.clone_into(&mut self.event.kind),
            "data" if self.event.data.is_empty() => value.clone_into(&mut self.event.data),
            "data" => self.event.data = format!("{}\n{value}", self.event.data),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.retries.push(value.to_owned()),
            _ => self.unknown_lines.push(line.to_owned()),
        }
        None
    }

    /// Reads the next byte of the body; `None` at its end.
    fn byte(&mut self, deadline: Instant) -> Result<Option<u8>, Next> {
        if self.chunk == Some(0) {
            let mut size = String::new();
            loop {
                match self.raw(deadline)?.ok_or(Next::Broken)? {
                    b'\n' if size.is_empty() => {}
                    b'\n' => break,
                    b'\r' => {}
                    byte => size.push(char::from(byte)),
                }
            }
            match u64::from_str_radix(size.split(';').next().unwrap_or_default(), 16) {
                Ok(0) => return Ok(None),
                Ok(size) => self.chunk = Some(size),
                Err(_) => return Err(Next::Broken),
            }
        }
        let byte = self.raw(deadline)?;
        match &mut self.chunk {
            Some(_) if byte.is_none() => return Err(Next::Broken),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(byte)
    }

    /// Reads the next byte of the connection; `None` at its end.
    fn raw(&mut self, deadline: Instant) -> Result<Option<u8>, Next> {
        if self.stream.buffer().is_empty() {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.stream.get_ref().set_read_timeout(Some(left)).map_err(|_| Next::Broken)?;
        }
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(length) => Ok(byte.first().copied().filter(|_| length > 0)),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                Err(Next::Silence)
            }
            Err(_) => Err(Next::Broken),
        }
    }
}
