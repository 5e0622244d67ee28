//! Requests that are refused before their body is read: the reply states whether the connection stays open.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use mesh_server::{Fallback, Server, Timeouts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::frames::{DATA, END_HEADERS, END_STREAM, Frame, HEADERS, PING, RST_STREAM, Raw, pseudo};
use super::served::{ANSWER, Served, app, app_with, text, within};

/// Less than the idle timeout, at which the server closes connections too.
const SOON: Duration = Duration::from_secs(30);

/// Returns the head of a request that is refused without its body.
fn refused(length: usize, more: &str) -> String {
    format!(
        "POST /nowhere HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{more}\r\n"
    )
}

/// Reads until the received text ends with `end`.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut got = String::new();
    let mut space = [0; 4096];
    while !got.ends_with(end) {
        let count = within(SOON, stream.read(&mut space)).await.unwrap();
        assert!(count > 0, "closed after {got:?}");
        got.push_str(std::str::from_utf8(&space[..count]).unwrap());
    }
    got
}

#[tokio::test]
async fn a_short_unread_body_is_discarded_and_the_next_request_answered() {
    let served = Served::start(Server::new(app())).await;
    let mut stream = served.connect().await;
    stream.set_nodelay(true).unwrap();
    for pause in [0, 30] {
        stream.write_all(refused(5, "").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        stream.write_all(b"hello").await.unwrap();
        let reply = until(&mut stream, "}").await;
        assert!(reply.starts_with("HTTP/1.1 404 ") && !reply.contains("connection: close"), "{reply}");
    }
    stream.write_all(text("quick").as_bytes()).await.unwrap();
    assert!(until(&mut stream, ANSWER).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_connection_with_a_long_unread_body_announces_its_close() {
    let served = Served::start(Server::new(app())).await;
    let upgrade =
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";
    for (length, more, body) in [
        (5, "", ""),
        (5, "Expect: 100-continue\r\n", ""),
        (50_000_000, "", "hello"),
        (70_000, "", "hello"),
        (70_000, upgrade, "hello"),
    ] {
        let mut stream = served.connect().await;
        stream.write_all((refused(length, more) + body).as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        let ended = tokio::time::timeout(SOON, stream.read_to_end(&mut reply)).await;
        let reply = String::from_utf8(reply).unwrap();
        assert!(ended.is_ok_and(|read| read.is_ok()), "{length} {more:?}: still open after {reply:?}");
        assert!(
            reply.starts_with("HTTP/1.1 404 ") && reply.contains("connection: close"),
            "{length}: {reply}"
        );
    }
}

/// The client is still sending when it would be idle.
#[tokio::test]
async fn a_long_unread_body_may_still_be_sent_for_a_while() {
    let short = Duration::from_millis(150);
    let timeouts = Timeouts { head: short, idle: short, ..Timeouts::default() };
    let served = Served::start(Server { timeouts, ..Server::new(app()) }).await;
    let mut stream = served.connect().await;
    stream.write_all(refused(50_000_000, "").as_bytes()).await.unwrap();
    for _ in 0..30 {
        stream.write_all(&[b'x'; 1000]).await.expect("the connection is open");
        tokio::time::sleep(short / 3).await;
    }
    let reply = until(&mut stream, "}").await;
    assert!(reply.starts_with("HTTP/1.1 404 ") && reply.contains("connection: close"), "{reply}");
}

#[tokio::test]
async fn a_request_that_was_asked_for_its_body_leaves_the_connection_open() {
    let served = Served::start(Server::new(app())).await;
    let mut stream = served.connect().await;
    let head = "POST /mesh HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    for _ in 0..2 {
        stream.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(until(&mut stream, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"4\r\nnope\r\n0\r\n\r\n").await.unwrap();
        let reply = until(&mut stream, "}").await;
        assert!(reply.starts_with("HTTP/1.1 400 ") && !reply.contains("connection: close"), "{reply}");
    }
}

#[tokio::test]
async fn a_handler_may_read_the_body_while_it_replies() {
    let echo = axum::routing::post(async |body: Body| Response::new(body));
    let app = app_with(|app| app.options.fallback = Some(Fallback::new(Router::new().route("/echo", echo))));
    let served = Served::start(Server::new(app)).await;
    let mut stream = served.connect().await;
    for _ in 0..2 {
        let head = "POST /echo HTTP/1.1\r\nHost: mesh.test\r\nContent-Length: 50\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for digit in ["1", "2", "3", "4"] {
            stream.write_all(digit.repeat(10).as_bytes()).await.unwrap();
            until(&mut stream, &format!("\r\n{}\r\n", digit.repeat(10))).await;
        }
        stream.write_all(&[b'5'; 10]).await.unwrap();
        until(&mut stream, "0\r\n\r\n").await;
    }
}

#[tokio::test]
async fn an_http2_stream_that_is_still_sent_is_not_reset() {
    let served = Served::start(Server::new(app())).await;
    let mut raw = Raw::open(&served).await;
    let mut fields = pseudo("/nowhere").to_vec();
    fields[0].1 = "POST";
    raw.send(&Frame { flags: END_HEADERS, ..Frame::head(1, &fields) }).await;
    let mut kinds = Vec::new();
    while kinds.last() != Some(&(DATA, END_STREAM)) {
        let frame = raw.next().await.expect("a reply");
        if frame.stream == 1 {
            kinds.push((frame.kind, frame.flags & END_STREAM));
        }
    }
    assert_eq!(kinds, [(HEADERS, 0), (DATA, END_STREAM)]);
    for flags in [0, END_STREAM] {
        raw.send(&Frame::new(DATA, flags, 1, b"hello")).await;
    }
    raw.send(&Frame::new(PING, 0, 0, &[7; 8])).await;
    loop {
        let frame = raw.next().await.expect("an answer to the ping");
        assert_ne!(frame.kind, RST_STREAM);
        if frame.kind == PING {
            break;
        }
    }
}
