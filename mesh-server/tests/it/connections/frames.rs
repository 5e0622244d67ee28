//! An HTTP/2 client that sends arbitrary frames, valid or not.

use std::collections::VecDeque;

use mesh_server::mesh_wire::base64;
use mesh_tests::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::served::{Served, within};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        Self { kind, flags, stream, payload: payload.to_vec() }
    }

    /// Returns a complete head with its fields in the given order.
    pub(crate) fn head(stream: u32, fields: &[(&str, &str)]) -> Self {
        Self::new(HEADERS, END_HEADERS | END_STREAM, stream, &block(fields))
    }

    /// Returns a point read.
    pub(crate) fn request(stream: u32, entity: &str) -> Self {
        let query = base64::encode(&format!("{{ {entity} id }}"));
        let path = format!("/mesh/{entity}/1");
        Self::head(
            stream,
            &[&pseudo(&path)[..], &[("x-mesh-format", "ql"), ("x-mesh-query", &query)]].concat(),
        )
    }

    /// Returns the head of a POST request whose body follows.
    pub(crate) fn post(stream: u32) -> Self {
        let mut fields = pseudo("/mesh").to_vec();
        fields[0].1 = "POST";
        fields.push(("content-type", "application/json"));
        Self { flags: END_HEADERS, ..Self::head(stream, &fields) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// Returns the error code of a RST_STREAM or GOAWAY frame.
    fn code(&self) -> u32 {
        let start = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[start..start + 4].try_into().unwrap())
    }
}

/// Returns the pseudo-headers of a request.
pub(crate) fn pseudo(path: &str) -> [(&str, &str); 4] {
    [(":method", "GET"), (":scheme", "http"), (":authority", "mesh.test"), (":path", path)]
}

/// Encodes fields as a header block without indexing.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            let mut length = text.len();
            if length < 127 {
                block.push(u8::try_from(length).unwrap());
            } else {
                block.push(127);
                length -= 127;
                while length >= 128 {
                    block.push(u8::try_from(length % 128).unwrap() | 128);
                    length /= 128;
                }
                block.push(u8::try_from(length).unwrap());
            }
            block.extend(text.as_bytes());
        }
    }
    block
}

/// A connection after the exchange of settings.
pub(crate) struct Raw {
    stream: TcpStream,
    /// Received frames that were not returned yet.
    received: VecDeque<Frame>,
}

impl Raw {
    pub(crate) async fn open(served: &Served) -> Self {
        let mut raw = Self { stream: served.connect().await, received: VecDeque::new() };
        raw.write(PREFACE).await;
        raw.send(&Frame::new(SETTINGS, 0, 0, &[])).await;
        raw.send(&Frame::new(SETTINGS, ACK, 0, &[])).await;
        raw
    }

    /// Sends bytes; the server may have closed the connection already.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        within(PATIENCE, self.stream.write_all(bytes)).await.is_ok()
    }

    pub(crate) async fn send(&mut self, frame: &Frame) -> bool {
        self.write(&frame.bytes()).await
    }

    /// Returns the next frame; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.received.pop_front() {
            return Some(frame);
        }
        let mut head = [0; 9];
        within(PATIENCE, self.stream.read_exact(&mut head)).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        within(PATIENCE, self.stream.read_exact(&mut payload)).await.ok()?;
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Waits for the end of a reply. Returns an error if the stream or the connection ends before it.
    pub(crate) async fn answer(&mut self, stream: u32) -> Result<(), Refusal> {
        let mut refusal = Refusal::Closed;
        while let Some(frame) = self.next().await {
            match frame.kind {
                RST_STREAM if frame.stream == stream => return Err(Refusal::Reset(frame.code())),
                GOAWAY if frame.code() != 0 => refusal = Refusal::Goodbye(frame.code()),
                HEADERS | DATA if frame.stream == stream && frame.flags & END_STREAM != 0 => return Ok(()),
                _ => {}
            }
        }
        Err(refusal)
    }

    /// Waits for the head of a reply and returns its status.
    pub(crate) async fn status(&mut self, stream: u32) -> u16 {
        loop {
            let frame = self.next().await.expect("a reply");
            if frame.kind == HEADERS && frame.stream == stream {
                // The first field is the status, indexed or literal.
                let known = [200, 204, 206, 304, 400, 404, 500];
                let first = usize::from(frame.payload[0]);
                if (0x88..=0x8e).contains(&first) {
                    return known[first - 0x88];
                }
                let text = &frame.payload[2..];
                let digits: String = text.iter().take(3).map(|byte| char::from(*byte)).collect();
                return digits.parse().unwrap_or_default();
            }
        }
    }

    /// Reads to the end of the connection. Returns the error code of the last GOAWAY frame.
    pub(crate) async fn goodbye(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.next().await {
            if frame.kind == GOAWAY {
                code = Some(frame.code());
            }
        }
        code
    }

    /// Reads to the end.
    pub(crate) async fn until_closed(&mut self) {
        self.goodbye().await;
    }
}

/// How a server refuses a request, with the error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Reset(u32),
    Goodbye(u32),
    /// The connection ends without an error code.
    Closed,
}
