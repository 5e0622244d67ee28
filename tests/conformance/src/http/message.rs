//! Requests as they go over the wire, and responses.

use serde_json::Value;

use crate::encoding;

/// Encodes a query for `X-Mesh-Query`.
#[must_use]
pub fn encode(query: &str) -> String {
    encoding::base64(query)
}

/// A request as it goes over the wire; no part of it is validated or corrected.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// The values of `Host`, one for each line; by default one with the address of the server.
    pub hosts: Option<Vec<String>>,
    /// The headers in order, without `Host`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body; `Content-Length` is added unless `headers` contains it or `Transfer-Encoding`.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// Creates a request without headers; `Host` is added when it is sent.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    /// Creates a GET read; `target` is the whole path, base path included.
    #[must_use]
    pub fn get(target: &str, query: &str) -> Self {
        Self::new("GET", target).query(query)
    }

    /// Creates a POST with a JSON body.
    #[must_use]
    pub fn post(target: &str, json: &str) -> Self {
        Self::json("POST", target, json)
    }

    /// Creates a request with a JSON body.
    #[must_use]
    pub fn json(method: &str, target: &str, json: impl AsRef<[u8]>) -> Self {
        Self::new(method, target).header("Content-Type", "application/json").body(json)
    }

    /// Adds a header, even if one with this name exists.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.add_header(name, value);
        self
    }

    /// Adds a header in place.
    pub fn add_header(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
    }

    /// Returns the first header of a name, ignoring case.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
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
        self.bytes_for("localhost")
    }

    /// Serializes the request with a value of `Host`, unless it has others.
    #[must_use]
    pub fn bytes_for(&self, host: &str) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let own = [host.to_owned()];
        for host in self.hosts.as_deref().unwrap_or(&own) {
            bytes.extend(format!("Host: {host}\r\n").into_bytes());
        }
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        let has_length =
            ["Content-Length", "Transfer-Encoding"].iter().any(|name| self.header_value(name).is_some());
        if let Some(body) = self.body.as_ref().filter(|_| !has_length) {
            bytes.extend(format!("Content-Length: {}\r\n", body.len()).into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(self.body.as_deref().unwrap_or_default());
        bytes
    }
}

/// A response of a server.
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

    /// Returns whether the body is an event stream.
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
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
