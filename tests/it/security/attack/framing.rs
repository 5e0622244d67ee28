//! Request smuggling: wherever a proxy and the server might disagree about the end of a request, the end is unambiguous
//! or the connection is closed before the following bytes are read as a request.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use mesh_tests::{Database, PATIENCE, Server, encode};

use super::{POST, is_well};

const BODY: &str = r#"{"query":"{ post id }","format":"ql","id":1}"#;

/// Returns a GET read with further header lines.
fn get(id: u32, lines: &str) -> String {
    let query = encode(POST);
    format!("GET /mesh/post/{id} HTTP/1.1\r\nHost: localhost\r\nX-Mesh-Query: {query}\r\n{lines}\r\n")
}

fn post(lines: &str, body: &str) -> String {
    format!("POST /mesh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lines}\r\n{body}")
}

fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

/// Sends bytes; returns the statuses of all replies up to the end of the connection, and the bytes received.
fn talk(server: &Server, bytes: &[u8]) -> (Vec<u16>, String) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    // Less than the idle timeout of the server, which would close the connection too.
    stream.set_read_timeout(Some(PATIENCE / 2)).unwrap();
    // The server may refuse and close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => received.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => {
                panic!("the connection stays open: {error}, {:?}", String::from_utf8_lossy(&received))
            }
        }
    }
    let text = String::from_utf8_lossy(&received).into_owned();
    let statuses = text.split("HTTP/1.1 ").skip(1).map(|rest| rest[..3].parse().unwrap());
    (statuses.collect(), text)
}

/// Attack without a session: request smuggling.
#[test]
fn an_ambiguous_end_of_a_request_closes_the_connection() {
    let server = Server::with_database(&Database::blog());
    let length = BODY.len();
    let both = chunked(BODY);
    let te = "Transfer-Encoding: chunked\r\n";
    // The first request and the statuses; a single status means that the connection was closed after it.
    let table: Vec<(&str, String, &[u16])> = vec![
        ("one length", post(&format!("Content-Length: {length}\r\n"), BODY), &[200, 200]),
        ("chunks", post(te, &both), &[200, 200]),
        ("length, then chunks", post(&format!("Content-Length: 5\r\n{te}"), &both), &[200]),
        ("chunks, then length", post(&format!("{te}Content-Length: 5\r\n"), &both), &[200]),
        ("two lengths", post(&format!("Content-Length: {length}\r\nContent-Length: 5\r\n"), BODY), &[400]),
        (
            "two lengths, the short one first",
            post(&format!("Content-Length: 5\r\nContent-Length: {length}\r\n"), BODY),
            &[400],
        ),
        ("a list of lengths", post(&format!("Content-Length: {length}, {length}\r\n"), BODY), &[400]),
        ("a length with a sign", post(&format!("Content-Length: +{length}\r\n"), BODY), &[400]),
        ("a negative length", post("Content-Length: -1\r\n", BODY), &[400]),
        ("a length in hexadecimal", post("Content-Length: 0x2c\r\n", BODY), &[400]),
        ("a length past 64 bits", post("Content-Length: 18446744073709551616\r\n", BODY), &[400]),
        ("a blank before the colon", post(&format!("Content-Length : {length}\r\n"), BODY), &[400]),
        ("a coding that is none", post("Transfer-Encoding: xchunked\r\n", &both), &[400]),
        ("chunks inside of something", post("Transfer-Encoding: chunked, identity\r\n", &both), &[400]),
        ("no coding at all", post("Transfer-Encoding: identity\r\n", BODY), &[400]),
        ("a control before the coding", post("Transfer-Encoding: \u{b}chunked\r\n", &both), &[400]),
        ("chunks in HTTP/1.0", post(te, &both).replace("HTTP/1.1", "HTTP/1.0"), &[400]),
        ("a folded line", get(1, "X-A: b\r\n c\r\n"), &[400]),
        ("a folded coding", post("Transfer-Encoding:\r\n chunked\r\n", &both), &[400]),
        ("a return alone", get(1, "X-A: b\rX-B: c\r\n"), &[400]),
        ("NUL in a value", get(1, "X-A: b\0c\r\n"), &[400]),
        ("NUL in the path", get(1, "").replace("/post/1", "/post/1\0"), &[400]),
        ("two blanks in the first line", get(1, "").replace("GET ", "GET  "), &[400]),
        (
            "an extension of a chunk",
            post(te, &format!("{length:x};a=\"b\"\r\n{BODY}\r\n0;c\r\n\r\n")),
            &[200, 200],
        ),
        (
            "a trailer",
            post(te, &both.replace("0\r\n\r\n", "0\r\nContent-Length: 9\r\nX-Mesh-Token: x\r\n\r\n")),
            &[200, 200],
        ),
        ("a chunk's line without a return", post(te, &both.replace("\r\n", "\n")), &[400]),
        ("an extension that ends with a line feed", post(te, &both.replacen("\r\n", ";a\n", 1)), &[400]),
        (
            "an endless extension",
            post(te, &both.replacen("\r\n", &format!(";{}\r\n", "a".repeat(100_000)), 1)),
            &[400],
        ),
        ("a negative chunk", post(te, &format!("-1\r\n{BODY}\r\n0\r\n\r\n")), &[400]),
        ("a chunk past 64 bits", post(te, &format!("fffffffffffffffff\r\n{BODY}\r\n0\r\n\r\n")), &[400]),
        ("a chunk with a prefix", post(te, &format!("0x{both}")), &[400]),
        ("a chunk that is longer than it says", post(te, &format!("5\r\n{BODY}\r\n0\r\n\r\n")), &[400]),
    ];
    let last = get(2, "Connection: close\r\n");
    let mut faults = Vec::new();
    for (name, first, expected) in table {
        let (statuses, text) = talk(&server, format!("{first}{last}").as_bytes());
        if statuses != expected {
            faults.push(format!("{name}: {statuses:?} in place of {expected:?}: {text}"));
        }
        let second = text.contains(r#"{"id":2}"#);
        if second != (expected.len() == 2) {
            faults.push(format!(
                "{name}: what follows was {}",
                if second { "answered" } else { "not answered" }
            ));
        }
    }
    crate::support::refusals::report(&faults);
    is_well(&server);
}

/// A body that contains a request is never read as a request.
#[test]
fn a_request_inside_a_body_is_never_answered() {
    let server = Server::with_database(&Database::blog());
    let hidden = get(2, "");
    let length = hidden.len();
    let lines = format!("Content-Length: {length}\r\n");
    let last = get(3, "Connection: close\r\n");
    for first in [
        get(1, &lines),
        get(1, &lines).replace("GET ", "HEAD "),
        get(1, &lines).replace("GET ", "PUT "),
        get(1, &lines).replace("GET ", "DELETE "),
        get(1, &lines).replace("/mesh/post/1", "/nowhere"),
        get(1, &lines).replace("/mesh/post/1", "/mesh/post?$where=1"),
        post(&lines, ""),
        post(&lines, "").replace("application/json", "text/plain"),
        post(&lines, "").replace("/mesh ", "/mesh/auth "),
    ] {
        let (statuses, text) = talk(&server, format!("{first}{hidden}{last}").as_bytes());
        assert!(!text.contains(r#"{"id":2}"#), "{first}{text}");
        // The body was skipped and the next request answered, or the connection was closed.
        assert!(statuses.len() == 1 || text.contains(r#"{"id":3}"#), "{first}{text}");
    }
    is_well(&server);
}
