//! An HTTP/1.1 client that sends requests as they are given, valid or not.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::endpoint::{Endpoint, Timeouts};
use super::message::{Request, Response};
use super::socket::Socket;

/// The largest body that is read.
const BODY_MAX: u64 = 1 << 30;

/// The longest line that is read.
const LINE_MAX: u64 = 1 << 20;

/// A keep-alive connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<Socket>,
    /// How long to wait for each part of a response.
    patience: Duration,
}

impl Connection {
    /// Connects to a server.
    #[must_use]
    pub fn connect(address: SocketAddr) -> Self {
        Self::from_stream(TcpStream::connect(address).expect("the server accepts connections"))
    }

    /// Connects to an endpoint.
    ///
    /// # Errors
    /// Returns a message if the host is unknown or does not accept the connection.
    pub fn open(endpoint: impl Into<Endpoint>) -> Result<Self, String> {
        let endpoint = endpoint.into();
        let failed = |error: &dyn Display| format!("cannot connect to {endpoint}: {error}");
        let address = endpoint.to_socket_addrs().ok().and_then(|mut all| all.next());
        let address = address.ok_or_else(|| failed(&"there is no such host"))?;
        let stream = TcpStream::connect_timeout(&address, endpoint.timeouts.connect);
        let stream = stream.map_err(|error| failed(&error))?;
        let patience = endpoint.timeouts.response;
        limit(&stream, patience).map_err(|error| failed(&error))?;
        let socket = Socket::begin(stream, &endpoint).map_err(|error| failed(&error))?;
        Ok(Self { stream: BufReader::new(socket), patience })
    }

    /// Uses a connection that is open already.
    #[must_use]
    pub fn from_stream(stream: TcpStream) -> Self {
        let patience = Timeouts::default().response;
        limit(&stream, patience).expect("time limits");
        Self { stream: BufReader::new(Socket::Plain(stream)), patience }
    }

    /// Returns the socket with the bytes that have been received but not read.
    #[must_use]
    pub fn into_stream(self) -> BufReader<Socket> {
        self.stream
    }

    /// Sends bytes. Write errors are ignored, since a server may refuse a request before it has read all of it.
    pub fn write(&mut self, bytes: &[u8]) {
        let stream = self.stream.get_mut();
        let _ = stream.write_all(bytes).and_then(|()| stream.flush());
    }

    /// Closes the sending direction.
    pub fn finish(&mut self) {
        let _ = self.stream.get_ref().shutdown();
    }

    /// Sends a request and reads its response.
    pub fn send(&mut self, request: &Request) -> Response {
        self.write(&request.bytes());
        self.read(request.method == "HEAD").expect("a response")
    }

    /// Reads a response if one begins within the time.
    pub fn read_within(&mut self, time: Duration) -> Option<Response> {
        self.stream.get_ref().set_read_timeout(Some(time)).expect("a time limit for reading");
        let has_begun = self.stream.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.stream.get_ref().set_read_timeout(Some(self.patience)).expect("a time limit for reading");
        if has_begun { self.read(false) } else { None }
    }

    /// Reads a response; `None` if the server closed the connection instead.
    pub fn read(&mut self, is_head: bool) -> Option<Response> {
        let read = |connection: &mut Self| {
            let head = connection.read_head()?;
            head.map(|head| connection.read_body(head, is_head)).transpose()
        };
        read(self).unwrap_or_else(|error: String| panic!("{error}"))
    }

    /// Reads the status line and the headers of a response; `None` if the server closed the connection instead.
    ///
    /// # Errors
    /// Returns a message if the server is silent or does not send HTTP.
    pub fn read_head(&mut self) -> Result<Option<Response>, String> {
        let Some(first) = self.line()? else { return Ok(None) };
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| format!("no status line: {first:?}"))?;
        let mut response = Response { status, ..Response::default() };
        loop {
            let line = self.line()?.ok_or("the connection was closed within the headers")?;
            if line.is_empty() {
                return Ok(Some(response));
            }
            let (name, value) = line.split_once(':').ok_or_else(|| format!("not a header: {line:?}"))?;
            response.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads the body of a response whose head has been read.
    ///
    /// # Errors
    /// Returns a message if the body is incomplete.
    pub fn read_body(&mut self, mut response: Response, is_head: bool) -> Result<Response, String> {
        if is_head || response.status < 200 || [204, 304].contains(&response.status) {
            return Ok(response);
        }
        if response.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk()? {
                response.body.extend(chunk);
            }
        } else {
            let length = response.header("content-length").and_then(|length| length.parse().ok());
            response.body = self.read_bytes(length)?;
        }
        Ok(response)
    }

    /// Reads a chunk; `None` for the last one.
    fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let line = self.line()?.ok_or("the connection was closed between chunks")?;
        let size = u64::from_str_radix(line.split(';').next().unwrap_or_default(), 16);
        let chunk = self.read_bytes(Some(size.map_err(|_| format!("no size of a chunk: {line:?}"))?))?;
        self.line()?;
        Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))
    }

    /// Reads `length` bytes, or everything up to the end of the connection.
    fn read_bytes(&mut self, length: Option<u64>) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let read = (&mut self.stream).take(length.unwrap_or(BODY_MAX).min(BODY_MAX)).read_to_end(&mut bytes);
        read.map_err(|error| format!("the body is incomplete: {error}"))?;
        match length {
            Some(length) if length != bytes.len() as u64 => {
                Err(format!("the body is incomplete: {} of {length} bytes", bytes.len()))
            }
            _ => Ok(bytes),
        }
    }

    /// Reads a line without its line ending; `None` at the end of the connection.
    fn line(&mut self) -> Result<Option<String>, String> {
        let mut line = Vec::new();
        match (&mut self.stream).take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {
                Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
            }
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                Err(format!("no answer within {:?}", self.patience))
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

fn limit(stream: &TcpStream, time: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(time))?;
    stream.set_write_timeout(Some(time))?;
    stream.set_nodelay(true)
}
