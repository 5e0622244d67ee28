//! A minimal HTTP/1.1 client that sends requests byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// How long the server may stay silent before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Encodes a query for `X-Mesh-Query`.
#[must_use]
pub fn encode(query: &str) -> String {
    STANDARD.encode(query)
}

/// A request as it goes over the wire; no part of it is validated or corrected.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
}

impl Request {
    /// Creates a request without headers; `Host` is added when it is sent.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: None }
    }

    /// Creates a GET read; `target` is the whole path, base path included.
    #[must_use]
    pub fn get(target: &str, query: &str) -> Self {
        Self::new("GET", target).query(query)
    }

    /// Creates a POST with a JSON body.
    #[must_use]
    pub fn post(target: &str, json: &str) -> Self {
        Self::new("POST", target).header("Content-Type", "application/json").body(json)
    }

    /// Adds a header, even if one of the name exists.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Adds a query in `X-Mesh-Query`.
    #[must_use]
    pub fn query(self, query: &str) -> Self {
        self.header("X-Mesh-Query", encode(query))
    }

    /// Sets the body and thereby `Content-Length`.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// Serializes the request.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes =
            format!("{} {} HTTP/1.1\r\nHost: mesh.test\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if let Some(body) = &self.body {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Returns whether the reply has no body regardless of its headers.
    fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

/// A reply of a server.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body without chunk framing.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first header of a name, given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses the body as JSON; fails the test if it is not.
    #[must_use]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("status {}, not JSON ({error}): {}", self.status, self.text()),
        }
    }
}

/// A keep-alive connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to a server.
    #[must_use]
    pub fn connect(address: SocketAddr) -> Self {
        Self::from_stream(TcpStream::connect(address).expect("the server accepts connections"))
    }

    /// Uses a connection that is open already.
    #[must_use]
    pub fn from_stream(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit for reading");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time limit for writing");
        stream.set_nodelay(true).expect("no delay");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes. Write errors are ignored, since a server may refuse a request before it has read all of it.
    pub fn write(&mut self, bytes: &[u8]) {
        let stream = self.stream.get_mut();
        let _ = stream.write_all(bytes).and_then(|()| stream.flush());
    }

    /// Closes the sending direction.
    pub fn finish(&mut self) {
        let _ = self.stream.get_mut().shutdown(Shutdown::Write);
    }

    /// Sends a request and reads its reply.
    pub fn send(&mut self, request: &Request) -> Response {
        self.write(&request.bytes());
        self.read(request.is_head()).expect("a reply")
    }

    /// Reads a reply if one begins within the time.
    pub fn read_within(&mut self, time: Duration) -> Option<Response> {
        let stream = self.stream.get_ref();
        stream.set_read_timeout(Some(time)).expect("a time limit for reading");
        let begun = self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).expect("a time limit for reading");
        if begun { self.read(false) } else { None }
    }

    /// Reads a reply; `None` if the server closed the connection instead.
    pub fn read(&mut self, is_head: bool) -> Option<Response> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no status line: {status_line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line().expect("headers end with an empty line");
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("not a header: {line:?}"));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response { status, headers, body: Vec::new() };
        if !is_head && status >= 200 && status != 204 && status != 304 {
            response.body = self.body_of(&response);
        }
        Some(response)
    }

    fn body_of(&mut self, response: &Response) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(length) = response.header("content-length") {
            body.resize(length.parse().expect("a length is a number"), 0);
            self.stream.read_exact(&mut body).expect("the whole body");
        } else if response.header("transfer-encoding").is_some() {
            loop {
                let size = self.line().expect("a chunk's size");
                let size = usize::from_str_radix(&size, 16).expect("a size in hexadecimal digits");
                let mut chunk = vec![0; size];
                self.stream.read_exact(&mut chunk).expect("the whole chunk");
                self.line().expect("the chunk's end");
                if size == 0 {
                    break;
                }
                body.append(&mut chunk);
            }
        } else {
            self.stream.read_to_end(&mut body).expect("the body up to the end of the connection");
        }
        body
    }

    /// Reads a line without its line ending; `None` at the end of the connection.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {}
            Err(error) if is_timeout(&error) => panic!("no answer within {PATIENCE:?}"),
            Ok(_) | Err(_) => return None,
        }
        let text = String::from_utf8_lossy(&line);
        Some(text.trim_end_matches(['\r', '\n']).to_owned())
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}
