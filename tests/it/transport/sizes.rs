//! Requests that are too large or not HTTP.

use mesh_tests::{Connection, Database, Request, Server};
use serde_json::{Value, json};

use super::{FIRST, POST, TRANSPORT, get, plain};
use crate::support::refusals::{report, shape_faults};

/// Sends raw bytes and checks the status of the reply.
fn refused_early(server: &Server, name: &str, bytes: &[u8], status: u16, faults: &mut Vec<String>) {
    let mut connection: Connection = server.connect();
    connection.write(bytes);
    let Some(reply) = connection.read(false) else {
        faults.push(format!("{name}: the connection was closed without a reply, {status} expected"));
        return;
    };
    if reply.status != status {
        faults.push(format!("{name}: {status} expected, got {} {}", reply.status, reply.text()));
    }
    for fault in shape_faults(&reply) {
        faults.push(format!("{name}: {fault}: {} {}", reply.status, reply.text()));
    }
    if reply.status >= 400
        && serde_json::from_slice::<Value>(&reply.body).is_ok_and(|body| body["error"] != TRANSPORT)
    {
        faults.push(format!("{name}: TransportError expected: {}", reply.text()));
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
fn too_large_requests_get_an_error_body() {
    let server = Server::with_database(&Database::blog());
    let mut faults = Vec::new();
    let mut refuse =
        |name: &str, request: &[u8], status: u16| refused_early(&server, name, request, status, &mut faults);
    refuse("one header of 33 KiB", &get("/post").header("X-Padding", "x".repeat(33 * 1024)).bytes(), 431);
    let large = format!("{}{POST}", " ".repeat(30_000));
    refuse("a query header over the bound", &Request::get("/mesh/post", &large).bytes(), 431);
    let many =
        (0..80).fold(get("/post"), |request, index| request.header(&format!("X-{index}"), "y".repeat(500)));
    refuse("many headers of 40 KiB in all", &many.bytes(), 431);
    refuse("a long request line", &get(&format!("/post/{}", "1".repeat(33 * 1024))).bytes(), 414);
    refuse("a long parameter", &get(&format!("/post?a={}", "1".repeat(40 * 1024))).bytes(), 414);

    let body = |length: usize| {
        let bare = json!({"query": POST, "id": 1}).to_string();
        format!("{bare}{}", " ".repeat(length - bare.len()))
    };
    refuse("a body over 1 MiB", &Request::post("/mesh", &body(1024 * 1024 + 1)).bytes(), 413);
    refuse("a body of 3 MiB", &Request::post("/mesh", &body(3 * 1024 * 1024)).bytes(), 413);
    let announced =
        plain("POST", "").header("Content-Type", "application/json").header("Content-Length", "1048577");
    refuse("announced, not sent", &announced.bytes(), 413);
    let vast = plain("POST", "")
        .header("Content-Type", "application/json")
        .header("Content-Length", "99999999999999");
    refuse("announced to be vast", &vast.bytes(), 413);
    let mut chunked = plain("POST", "")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked")
        .bytes();
    let all = body(1024 * 1024 + 1);
    chunked.extend_from_slice(format!("{:x}\r\n{all}\r\n0\r\n\r\n", all.len()).as_bytes());
    refuse("chunks over 1 MiB", &chunked, 413);
    report(&faults);

    let within = server.send(&Request::post("/mesh", &body(1024 * 1024)));
    assert_eq!((within.status, within.text().as_str()), (200, FIRST));
    let mut header = get("/post/1");
    let room = 32 * 1024 - header.bytes().len() - 200;
    header = header.header("X-Padding", "x".repeat(room));
    assert_eq!(server.send(&header).text(), FIRST, "a header block within the bound");
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
