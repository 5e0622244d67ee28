//! A client of event streams.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mesh_tests::Request;

/// A server that sends nothing for this long is considered stuck.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) data: String,
    pub(crate) id: Option<String>,
}

/// An open stream.
pub(crate) struct Stream {
    socket: TcpStream,
    /// Received bytes that are not parsed yet.
    rest: Vec<u8>,
    /// The text of the body after the last complete block.
    text: String,
    pub(crate) head: String,
    pub(crate) heartbeats: usize,
    pub(crate) retry: Option<String>,
    ended: bool,
}

impl Stream {
    /// Opens a stream. Any other reply is an error with its status and body.
    pub(crate) fn try_open(address: SocketAddr, request: &Request) -> Result<Self, (u16, String)> {
        let mut socket = TcpStream::connect(address).expect("the server accepts connections");
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.write_all(&request.bytes()).unwrap();
        let mut stream = Self {
            socket,
            rest: Vec::new(),
            text: String::new(),
            head: String::new(),
            heartbeats: 0,
            retry: None,
            ended: false,
        };
        let end = loop {
            if let Some(end) = stream.rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            assert!(stream.more(TIMEOUT), "the head of a reply");
        };
        stream.head = String::from_utf8(stream.rest.drain(..end + 4).collect()).unwrap();
        let status = stream.head[9..12].parse().unwrap();
        if stream.head.to_ascii_lowercase().contains("content-type: text/event-stream") {
            return Ok(stream);
        }
        let length = stream.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while stream.rest.len() < length {
            assert!(stream.more(TIMEOUT), "the whole body");
        }
        Err((status, String::from_utf8_lossy(&stream.rest).into_owned()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the data of the next event, which must be an update.
    #[track_caller]
    pub(crate) fn data(&mut self) -> String {
        let event = self.next(TIMEOUT).expect("an event");
        assert_eq!(event.kind, "update", "{event:?}");
        event.data
    }

    /// Returns the next event; `None` if none arrives within `timeout` or the stream has ended.
    pub(crate) fn next(&mut self, timeout: Duration) -> Option<Event> {
        let end = Instant::now() + timeout;
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(event) = self.event(&block) {
                    return Some(event);
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if self.ended || left.is_zero() || !self.chunk(left) {
                return None;
            }
        }
    }

    /// Returns whether the server ends the body within `timeout`, without another event.
    pub(crate) fn ends(&mut self, timeout: Duration) -> bool {
        assert_eq!(self.next(timeout), None, "the end, and no event before it");
        self.ended
    }

    fn event(&mut self, block: &str) -> Option<Event> {
        let mut event = Event::default();
        for line in block.lines() {
            match line.split_once(':') {
                Some(("", _)) => self.heartbeats += 1,
                Some(("retry", value)) => self.retry = Some(value.trim_start().to_owned()),
                Some(("event", value)) => event.kind = value.trim_start().to_owned(),
                Some(("data", value)) => event.data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                Some(("id", value)) => event.id = Some(value.trim_start().to_owned()),
                _ => panic!("unexpected line: {line:?}"),
            }
        }
        (event != Event::default()).then_some(event)
    }

    /// Reads one chunk of the body. Returns `false` if none is complete in time.
    fn chunk(&mut self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        loop {
            if let Some(line) = self.rest.windows(2).position(|bytes| bytes == b"\r\n") {
                let size =
                    usize::from_str_radix(std::str::from_utf8(&self.rest[..line]).unwrap(), 16).unwrap();
                if self.rest.len() >= line + 2 + size + 2 {
                    self.ended = size == 0;
                    let chunk: Vec<u8> = self.rest.drain(..line + 2 + size + 2).collect();
                    self.text.push_str(std::str::from_utf8(&chunk[line + 2..line + 2 + size]).unwrap());
                    return true;
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.more(left) {
                return false;
            }
        }
    }

    fn more(&mut self, timeout: Duration) -> bool {
        self.socket.set_read_timeout(Some(timeout.max(Duration::from_millis(1)))).unwrap();
        let mut bytes = [0; 16 * 1024];
        match self.socket.read(&mut bytes) {
            Ok(0) => false,
            Ok(length) => {
                self.rest.extend_from_slice(&bytes[..length]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => false,
            Err(_) => false,
        }
    }
}
