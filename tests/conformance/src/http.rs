//! Requests to a target; failures are returned as messages.

mod connection;
mod endpoint;
mod message;
mod socket;
pub mod stream;

use std::fmt::Write as _;

pub use connection::Connection;
pub use endpoint::{BaseUrl, Endpoint, Network, Timeouts};
pub use message::{Request, Response, encode};
pub use socket::Socket;

/// A connection that has sent its request and read the head of the response.
#[derive(Debug)]
pub struct Exchange {
    /// The connection, from which the body has not been read yet.
    pub connection: Connection,
    /// Status and headers.
    pub head: Response,
    is_head_request: bool,
}

impl Exchange {
    /// Sends a request and reads the head of the response.
    pub fn begin(endpoint: impl Into<Endpoint>, request: &Request) -> Result<Self, String> {
        let endpoint = endpoint.into();
        let mut connection = Connection::open(&endpoint)?;
        connection.write(&request.clone().header("Connection", "close").bytes_for(&endpoint));
        loop {
            let head = connection.read_head()?.ok_or("the connection was closed without an answer")?;
            if head.status >= 200 {
                return Ok(Self { connection, head, is_head_request: request.method == "HEAD" });
            }
        }
    }

    /// Reads the body. The body of an event stream has no end and is left empty.
    pub fn finish(mut self) -> Result<Response, String> {
        if self.head.is_event_stream() {
            return Ok(self.head);
        }
        self.connection.read_body(self.head, self.is_head_request)
    }
}

/// Sends a request and reads the whole response.
pub fn send(endpoint: impl Into<Endpoint>, request: &Request) -> Result<Response, String> {
    Exchange::begin(endpoint, request)?.finish()
}

/// Returns a curl command that sends the request.
#[must_use]
pub fn curl(request: &Request, endpoint: &Endpoint) -> String {
    let mut line = String::new();
    let body = request.body.as_deref().unwrap_or_default();
    let text = std::str::from_utf8(body).ok().filter(|text| !text.contains('\0'));
    if text.is_none() {
        let _ = write!(line, "printf %s {} | base64 -d | ", crate::encoding::base64(body));
    }
    line.push_str("curl -i --path-as-is");
    match request.method.as_str() {
        "GET" => {}
        "HEAD" => line.push_str(" --head"),
        method => line.extend([" -X ", method]),
    }
    for host in request.hosts.iter().flatten() {
        let header = if host.is_empty() { "Host;".to_owned() } else { format!("Host: {host}") };
        line.extend([" -H ", &quoted(&header)]);
    }
    if request.hosts.as_ref().is_some_and(Vec::is_empty) {
        line.push_str(" -H 'Host:'");
    }
    for (name, value) in &request.headers {
        let value = String::from_utf8_lossy(value);
        let header = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        line.extend([" -H ", &quoted(&header)]);
    }
    if request.body.is_some() {
        line.extend([" --data-binary ", &text.map_or_else(|| "@-".to_owned(), quoted)]);
    }
    let target = &request.target;
    if !target.starts_with('/') {
        line.extend([" --request-target ", &quoted(target)]);
    }
    let path = if target.starts_with('/') { target } else { "/" };
    line.extend([" ", &quoted(&format!("{}://{endpoint}{path}", endpoint.scheme()))]);
    line
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
