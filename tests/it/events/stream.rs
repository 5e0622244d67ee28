//! What does a client of a stream see? Its bytes, read as they come.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mesh_tests::Request;

/// A server that says nothing for this long is taken for stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// One event, as its lines have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) data: String,
    pub(crate) id: Option<String>,
}

/// A stream that is open.
pub(crate) struct Stream {
    socket: TcpStream,
    /// Bytes that came and were not looked at.
    rest: Vec<u8>,
    /// The text of the body that belongs to no whole block yet.
    text: String,
    pub(crate) head: String,
    pub(crate) heartbeats: usize,
    pub(crate) retry: Option<String>,
    ended: bool,
}

impl Stream {
    /// Opens a stream, or returns what came instead: status and body.
    pub(crate) fn try_open(address: SocketAddr, request: &Request) -> Result<Self, (u16, String)> {
        let mut socket = TcpStream::connect(address).expect("the server accepts connections");
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
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
            assert!(stream.more(PATIENCE), "the head of a reply");
        };
        stream.head = String::from_utf8(stream.rest.drain(..end + 4).collect()).unwrap();
        let status = stream.head[9..12].parse().unwrap();
        if stream.head.to_ascii_lowercase().contains("content-type: text/event-stream") {
            return Ok(stream);
        }
        let length = stream.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while stream.rest.len() < length {
            assert!(stream.more(PATIENCE), "the whole body");
        }
        Err((status, String::from_utf8_lossy(&stream.rest).into_owned()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The data of the next event, which must be an update.
    #[track_caller]
    pub(crate) fn data(&mut self) -> String {
        let event = self.next(PATIENCE).expect("an event");
        assert_eq!(event.kind, "update", "{event:?}");
        event.data
    }

    /// The next event; `None` where none comes in that time, or none any more.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<Event> {
        let end = Instant::now() + patience;
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

    /// Whether the server ends the body, whole, in that time.
    pub(crate) fn ends(&mut self, patience: Duration) -> bool {
        assert_eq!(self.next(patience), None, "the end, and no event before it");
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
                _ => panic!("no line of a stream: {line:?}"),
            }
        }
        (event != Event::default()).then_some(event)
    }

    /// Takes one chunk of the body; false where none is whole in time.
    fn chunk(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
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

    fn more(&mut self, patience: Duration) -> bool {
        self.socket.set_read_timeout(Some(patience.max(Duration::from_millis(1)))).unwrap();
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
