//! Requests to a target; failures are returned as messages.

mod connection;
mod endpoint;
mod message;
mod socket;
pub mod stream;

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

/// Returns a shell command that sends the request: with curl, unless it is one that curl cannot send.
#[must_use]
pub fn curl(request: &Request, endpoint: &Endpoint) -> String {
    // curl sends one `Host` only, and divides bodies into chunks itself.
    let has_several_hosts = request.hosts.as_ref().is_some_and(|hosts| hosts.len() > 1);
    if has_several_hosts || request.header_value("Transfer-Encoding").is_some() {
        let bytes = printf(&request.clone().header("Connection", "close").bytes_for(endpoint));
        return match endpoint.scheme() {
            "https" => format!("({bytes}; sleep 1) | openssl s_client -quiet -connect {endpoint}"),
            _ => {
                let device = endpoint.replace(':', "/");
                format!("bash -c {}", quoted(&format!("exec 3<>/dev/tcp/{device}; {bytes} >&3; cat <&3")))
            }
        };
    }
    let mut line = String::from("curl -i --path-as-is");
    match request.method.as_str() {
        "GET" if request.body.is_none() => {}
        "HEAD" => line.push_str(" --head"),
        method => line.extend([" -X ", method]),
    }
    let mut header = |name: &str, value: &[u8]| {
        let mark: &[u8] = if value.is_empty() { b";" } else { b": " };
        line.extend([" -H ", &word(&[name.as_bytes(), mark, value].concat())]);
    };
    for host in request.hosts.iter().flatten() {
        header("Host", host.as_bytes());
    }
    for (name, value) in &request.headers {
        header(name, value);
    }
    let mut without = |name: &str| line.push_str(&format!(" -H '{name}:'"));
    if request.hosts.as_ref().is_some_and(Vec::is_empty) {
        without("Host");
    }
    let body = request.body.as_deref();
    if body.is_some() && request.header_value("Content-Type").is_none() {
        without("Content-Type");
    }
    if body.is_some_and(|body| body.len() > 1024) {
        without("Expect");
    }
    let is_plain = body.is_some_and(|body| is_printable(body) && !body.starts_with(b"@"));
    match body {
        Some(body) if is_plain => line.extend([" --data-binary ", &word(body)]),
        Some(_) => line.push_str(" --data-binary @-"),
        None => {}
    }
    let target = &request.target;
    if !target.starts_with('/') {
        line.extend([" --request-target ", &word(target.as_bytes())]);
    }
    let path = if target.starts_with('/') { target } else { "/" };
    line.extend([" ", &word(format!("{}://{endpoint}{path}", endpoint.scheme()).as_bytes())]);
    match body {
        Some(body) if !is_plain => format!("{} | {line}", printf(body)),
        _ => line,
    }
}

/// Returns whether a terminal shows the bytes as they are.
fn is_printable(bytes: &[u8]) -> bool {
    let is_shown =
        |c: char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_shown))
}

/// Returns bytes as a word of a shell.
fn word(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_printable(bytes) => quoted(text),
        _ => format!("\"$({})\"", printf(bytes)),
    }
}

/// Returns a command that prints bytes: `printf`, or `base64` for bytes of which most are not text.
fn printf(bytes: &[u8]) -> String {
    let text = bytes.iter().filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()).count();
    if text < bytes.len() / 2 {
        return format!("printf %s {} | base64 -d", crate::encoding::base64(bytes));
    }
    let mut format = String::new();
    for byte in bytes {
        match byte {
            b'%' => format.push_str("%%"),
            b'\\' => format.push_str(r"\\"),
            b'\r' => format.push_str(r"\r"),
            b'\n' => format.push_str(r"\n"),
            b' '..=b'~' => format.push(char::from(*byte)),
            other => format.push_str(&format!("\\{other:03o}")),
        }
    }
    format!("printf {}", quoted(&format))
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
            '%' | '\\' => out.push_str(run),
            _ if count < RUN => out.push_str(run),
            _ => out.push_str(&format!("'\"$(printf '{first}%.0s' $(seq {count}))\"'")),
        }
        rest = tail;
    }
    out.push('\'');
    out
}
