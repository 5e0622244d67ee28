//! An HTTP/1.1 client that neither validates nor corrects requests and reports every failure as a message.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a target may stay silent.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The largest body that is read.
const BODY_MAX: u64 = 64 << 20;

/// The URL of a server, split into authority and base path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Host and port.
    pub authority: String,
    /// The base path without a trailing slash.
    pub base: String,
}

impl BaseUrl {
    /// Parses an `http://` URL.
    pub fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("'{url}' is not an http:// URL; for https use a plain-text proxy such as socat")
        })?;
        let (authority, base) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Self { authority, base: base.trim_end_matches('/').to_owned() })
    }
}

/// A request as it goes over the wire.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// The headers in order.
    pub headers: Vec<(String, String)>,
    /// The body; `Content-Length` is added for it.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// Returns the first header of a name, ignoring case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Serializes the request.
    #[must_use]
    pub fn bytes(&self, authority: &str) -> Vec<u8> {
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Returns a curl command that sends the request.
    #[must_use]
    pub fn curl(&self, authority: &str) -> String {
        let mut line = String::new();
        let body = self.body.as_deref().unwrap_or_default();
        let text = std::str::from_utf8(body).ok().filter(|text| !text.contains('\0'));
        if text.is_none() {
            line.push_str(&format!("printf %s {} | base64 -d | ", super::encoding::base64(body)));
        }
        line.push_str("curl -i --path-as-is");
        match self.method.as_str() {
            "GET" => {}
            "HEAD" => line.push_str(" --head"),
            method => line.push_str(&format!(" -X {method}")),
        }
        for (name, value) in &self.headers {
            let header = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
            line.push_str(&format!(" -H {}", quoted(&header)));
        }
        if self.body.is_some() {
            line.push_str(&format!(" --data-binary {}", text.map_or_else(|| "@-".to_owned(), quoted)));
        }
        line.push_str(&format!(" {}", quoted(&format!("http://{authority}{}", self.target))));
        line
    }
}

/// Quotes text for a shell. A long run of one character is written as a `printf` command.
fn quoted(text: &str) -> String {
    const RUN: usize = 200;
    let mut out = String::from("'");
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|character| character != first).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        let count = run.chars().count();
        match first {
            '\'' => out.push_str(&r"'\''".repeat(count)),
            _ if count < RUN => out.push_str(run),
            '%' => out.push_str(&format!("'\"$(printf '%%%.0s' $(seq {count}))\"'")),
            _ => out.push_str(&format!("'\"$(printf '{first}%.0s' $(seq {count}))\"'")),
        }
        rest = tail;
    }
    out.push('\'');
    out
}

/// A response of a target.
#[derive(Debug, Clone, Default)]
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
}

/// A connection that has sent its request and read the head of the response.
#[derive(Debug)]
pub struct Exchange {
    /// The rest of the response.
    pub stream: BufReader<TcpStream>,
    /// Status and headers; the body has not been read yet.
    pub head: Response,
    has_body: bool,
}

/// Sends a request and reads the head of the response.
pub fn begin(authority: &str, request: &Request) -> Result<Exchange, String> {
    let address = authority.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = address.ok_or_else(|| format!("cannot find {authority}"))?;
    let stream = TcpStream::connect_timeout(&address, PATIENCE)
        .map_err(|error| format!("cannot connect to {authority}: {error}"))?;
    let set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    set.and_then(|()| stream.set_nodelay(true))
        .map_err(|error| format!("cannot set up a socket: {error}"))?;
    let mut stream = BufReader::new(stream);
    // Write errors are ignored, since a server may refuse a request before it has read all of it.
    let bytes = request.bytes(authority);
    let _ = stream.get_mut().write_all(&bytes).and_then(|()| stream.get_mut().flush());
    loop {
        let head = head(&mut stream)?;
        if head.status >= 200 {
            let has_body = request.method != "HEAD" && head.status != 204 && head.status != 304;
            return Ok(Exchange { stream, head, has_body });
        }
    }
}

/// Sends a request and reads the whole response.
pub fn send(authority: &str, request: &Request) -> Result<Response, String> {
    finish(begin(authority, request)?)
}

/// Reads the body of a response whose head has been read.
pub fn finish(mut exchange: Exchange) -> Result<Response, String> {
    let mut response = exchange.head.clone();
    if exchange.has_body {
        let mut stream = DeadlineReader { inner: &mut exchange.stream, deadline: Instant::now() + PATIENCE };
        response.body = body(&mut stream, &response)?;
    }
    Ok(response)
}

/// A reader with a deadline, for bodies that arrive slowly or never end, such as event streams.
struct DeadlineReader<'r> {
    inner: &'r mut BufReader<TcpStream>,
    deadline: Instant,
}

impl BufRead for DeadlineReader<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if Instant::now() > self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
    }
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(available) {
            *to = *from;
        }
        self.consume(count);
        Ok(count)
    }
}

/// Reads a line without its line ending.
pub fn line(stream: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    match stream.take(1 << 20).read_until(b'\n', &mut line) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            Err("no answer in time".to_owned())
        }
        Err(error) => Err(format!("the connection broke: {error}")),
    }
}

fn head(stream: &mut impl BufRead) -> Result<Response, String> {
    let first = line(stream)?.ok_or("the connection was closed without an answer")?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status =
        status.and_then(|code| code.parse().ok()).ok_or_else(|| format!("no status line: {first:?}"))?;
    let mut response = Response { status, ..Response::default() };
    loop {
        let line = line(stream)?.ok_or("the connection was closed within the headers")?;
        if line.is_empty() {
            return Ok(response);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| format!("not a header: {line:?}"))?;
        response.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn body(stream: &mut impl BufRead, head: &Response) -> Result<Vec<u8>, String> {
    let broken = |error| format!("the body is incomplete: {error}");
    let mut body = Vec::new();
    if head.header("transfer-encoding").is_some() {
        loop {
            let size = line(stream)?.ok_or("the connection was closed between chunks")?;
            let size = size.split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(|_| format!("no size of a chunk: {size:?}"))?;
            let before = body.len();
            stream.take(size.min(BODY_MAX)).read_to_end(&mut body).map_err(broken)?;
            if (body.len() - before) as u64 != size {
                return Err("the body is incomplete within a chunk".to_owned());
            }
            line(stream)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = head.header("content-length").and_then(|length| length.parse::<u64>().ok());
    stream.take(length.unwrap_or(BODY_MAX).min(BODY_MAX)).read_to_end(&mut body).map_err(broken)?;
    match length {
        Some(length) if length != body.len() as u64 => {
            Err(format!("a body of {} bytes, not {length}", body.len()))
        }
        _ => Ok(body),
    }
}
