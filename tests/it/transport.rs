//! Requests that are too large or not HTTP, as sockets show them.

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

use crate::support::refusals::{report, shape_faults};

const POST: &str = r#"{"post":{"$select":{"id":true,"title":true}}}"#;
const FIRST: &str = r#"{"id":1,"title":"Rust at dawn"}"#;

fn get(path: &str) -> Request {
    Request::get(&format!("/mesh{path}"), POST)
}

fn posted() -> Request {
    Request::new("POST", "/mesh").header("Content-Type", "application/json")
}

/// Sends raw bytes, which must be refused as too large.
fn refused_early(server: &Server, name: &str, bytes: &[u8], faults: &mut Vec<String>) {
    let mut connection = server.connect();
    connection.write(bytes);
    let Some(reply) = connection.read(false) else {
        faults.push(format!("{name}: the connection was closed without a reply"));
        return;
    };
    let error = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default()["error"].clone();
    if reply.status != 413 || error != "TransportError" || !shape_faults(&reply).is_empty() {
        faults.push(format!("{name}: {} {}", reply.status, reply.text()));
    }
}

/// The HTTP parser refuses heads of four times the limit and more than 100 headers, without an error body.
#[test]
fn far_too_large_requests_are_refused_while_they_are_read() {
    let server = Server::with_database(&Database::blog());
    let tiny =
        (0..2000).fold(get("/post"), |request, index| request.header(&format!("X-{index}"), "y".repeat(20)));
    let requests = [
        get("/post").header("X-Padding", "x".repeat(300 * 1024)),
        tiny,
        get(&format!("/post/{}", "1".repeat(200 * 1024))),
    ];
    for request in requests {
        let mut connection = server.connect();
        connection.write(&request.bytes());
        assert_eq!(connection.read(false).map(|reply| reply.status), Some(431));
    }
    assert_eq!(server.send(&Request::get("/mesh/post/1", POST)).status, 200);
}

#[test]
fn bodies_that_are_announced_or_sent_in_chunks_are_bounded() {
    let server = Server::with_database(&Database::blog());
    let mut faults = Vec::new();
    let mut refuse = |name: &str, request: &[u8]| refused_early(&server, name, request, &mut faults);
    refuse("announced, not sent", &posted().header("Content-Length", "1048577").bytes());
    refuse("announced to be vast", &posted().header("Content-Length", "99999999999999").bytes());
    let mut chunked = posted().header("Transfer-Encoding", "chunked").bytes();
    let bare = json!({"query": POST, "id": 1}).to_string();
    let body = format!("{bare}{}", " ".repeat(1024 * 1024 + 1 - bare.len()));
    chunked.extend_from_slice(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
    refuse("chunks over 1 MiB", &chunked);
    report(&faults);
}

#[test]
fn malformed_http_is_refused() {
    let server = Server::with_database(&Database::blog());
    for bytes in [
        &b"\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /mesh/post HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /mesh/post HTTP/1.1\r\nNo colon\r\n\r\n",
        b"POST /mesh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: x\r\n\r\n",
    ] {
        let mut connection = server.connect();
        connection.write(bytes);
        connection.finish();
        if let Some(reply) = connection.read(false) {
            assert!((400..600).contains(&reply.status), "{}", reply.status);
        }
        assert_eq!(server.send(&get("/post/1")).text(), FIRST);
    }
}
