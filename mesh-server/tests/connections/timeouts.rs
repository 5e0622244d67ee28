//! Is every kind of waiting for a client ended, and none that is our own doing?

use std::time::{Duration, Instant};

use http::Version;
use mesh_server::{Limits, Server, Timeouts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::frames::{Frame, PING, Raw};
use crate::served::{ANSWER, Served, app, ask, text, within};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(20);

/// All times are long.
fn patient() -> Timeouts {
    Timeouts { handshake: LONG, head: LONG, idle: LONG, write: LONG, ping: LONG, pong: LONG }
}

/// A server of one connection at a time, so that the next one tells that the one before has ended.
async fn serve(timeouts: Timeouts) -> Served {
    Served::start(Server::new(app()).timeouts(timeouts).max_connections(1)).await
}

/// What comes until the connection is closed, and how long that took.
async fn rest(stream: &mut TcpStream) -> (String, Duration) {
    let (start, mut bytes) = (Instant::now(), Vec::new());
    let _ = within(LONG, stream.read_to_end(&mut bytes)).await;
    (String::from_utf8_lossy(&bytes).into_owned(), start.elapsed())
}

async fn is_served(served: &Served) {
    let asking = ask(served.connect().await, Version::HTTP_11, "quick");
    assert_eq!(within(LONG / 2, asking).await, (200, ANSWER.to_owned()));
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let served = serve(Timeouts { head: SHORT, ..patient() }).await;
    let (head, preface) = (text("quick"), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    for begun in ["", "G", &head[..head.len() - 2], &head[..20], "PR", &preface[..2]] {
        let mut stream = served.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let (reply, time) = rest(&mut stream).await;
        assert_eq!(reply, "", "{begun:?}");
        assert!(time >= SHORT / 2 && time < LONG / 2, "{begun:?}: {time:?}");
        is_served(&served).await;
    }
}

#[tokio::test]
async fn a_head_that_comes_drop_by_drop_is_not_waited_for() {
    let served = serve(Timeouts { head: SHORT, ..patient() }).await;
    // As the first one, and as the second one of a connection.
    for before in ["", &text("quick")] {
        let mut stream = served.connect().await;
        stream.write_all(before.as_bytes()).await.unwrap();
        if !before.is_empty() {
            reply(&mut stream).await;
        }
        let start = Instant::now();
        for byte in text("quick").bytes().cycle() {
            if stream.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(start.elapsed() < LONG, "still taken");
        }
        drop(stream);
        is_served(&served).await;
    }
}

#[tokio::test]
async fn the_next_request_is_waited_for_longer_than_the_rest_of_a_head() {
    let idle = Duration::from_millis(600);
    let served = serve(Timeouts { head: SHORT, idle, ..patient() }).await;
    let mut stream = served.connect().await;
    for _ in 0..2 {
        stream.write_all(text("quick").as_bytes()).await.unwrap();
        assert!(reply(&mut stream).await.ends_with(ANSWER));
        tokio::time::sleep(2 * SHORT).await;
    }
    let (last, time) = rest(&mut stream).await;
    assert_eq!(last, "");
    assert!(time >= idle / 4 && time < LONG / 2, "{time:?}");
    is_served(&served).await;
}

#[tokio::test]
async fn a_request_that_takes_long_is_not_idle() {
    let time = Duration::from_millis(60);
    let served = serve(Timeouts { head: time, idle: time, write: time, ..patient() }).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let asking = ask(served.connect().await, version, "slow");
        assert_eq!(within(LONG / 2, asking).await, (200, ANSWER.to_owned()), "{version:?}");
    }
}

#[tokio::test]
async fn an_idle_connection_of_http_2_is_told_goodbye() {
    let served = serve(Timeouts { head: SHORT, idle: 2 * SHORT, ..patient() }).await;
    // Before a request and after one.
    for entity in [None, Some("quick")] {
        let mut raw = Raw::open(&served).await;
        if let Some(entity) = entity {
            raw.send(&Frame::request(1, entity)).await;
            assert_eq!(raw.answer(1).await, Ok(()));
        }
        // Frames that ask for nothing are no reason to stay.
        raw.send(&Frame::new(PING, 0, 0, &[7; 8])).await;
        assert_eq!(raw.goodbye().await, Some(0), "no error");
        is_served(&served).await;
    }
}

#[tokio::test]
async fn a_client_of_http_2_that_is_gone_without_a_word_is_noticed() {
    let served = serve(Timeouts { ping: SHORT, pong: SHORT, ..patient() }).await;
    let mut raw = Raw::open(&served).await;
    raw.send(&Frame::request(1, "stuck")).await;
    // Reads, and never answers a ping.
    raw.until_closed().await;
    is_served(&served).await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up() {
    let served = serve(Timeouts { write: SHORT, ..patient() }).await;
    let mut stream = served.connect().await;
    stream.write_all(text("large").as_bytes()).await.unwrap();
    is_served(&served).await;
    drop(stream);
    // One that is slow, but takes some all the time, gets all of it.
    let mut stream = served.connect().await;
    stream.write_all(text("large").as_bytes()).await.unwrap();
    let (mut block, mut length) = (vec![0; 4 << 20], 0);
    while length < 16 << 20 {
        length += within(LONG, stream.read(&mut block)).await.unwrap();
        tokio::time::sleep(SHORT / 10).await;
    }
}

#[tokio::test]
async fn a_body_that_stalls_is_refused() {
    let limits = Limits { body_timeout: SHORT, request_timeout: LONG, ..Limits::default() };
    let server = Server::new(app().limits(limits)).timeouts(patient()).max_connections(1);
    let served = Served::start(server).await;
    let head = "POST /mesh HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\n";
    for rest_of_head in
        ["Content-Length: 100\r\n\r\n{\"query\"", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"que"]
    {
        let mut stream = served.connect().await;
        stream.write_all(format!("{head}{rest_of_head}").as_bytes()).await.unwrap();
        let (reply, time) = rest(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 400 ") && reply.contains("too slowly"), "{reply}");
        assert!(time >= SHORT / 2 && time < LONG / 2, "{time:?}");
        is_served(&served).await;
    }
    let mut raw = Raw::open(&served).await;
    raw.send(&Frame::post(1)).await;
    raw.send(&Frame::new(0, 0, 1, b"{\"que")).await;
    assert_eq!(raw.status(1).await, 400);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_answered_so() {
    let limits = Limits { request_timeout: SHORT, ..Limits::default() };
    let served = Served::start(Server::new(app().limits(limits))).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (status, body) = within(LONG / 2, ask(served.connect().await, version, "stuck")).await;
        assert!(status == 500 && body.contains(r#""code":"TIMEOUT""#), "{status} {body}");
    }
    // A body that comes too late in all, though never slowly.
    let mut stream = served.connect().await;
    let head = "POST /mesh HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let start = Instant::now();
    while start.elapsed() < 2 * SHORT && stream.write_all(&[b' '; 100]).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (reply, _) = rest(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 400 ") && reply.contains("in time"), "{reply}");
}

/// One reply of HTTP/1.1.
async fn reply(stream: &mut TcpStream) -> String {
    let (mut bytes, mut block) = (Vec::new(), [0; 4096]);
    while !bytes.ends_with(b"}") {
        let length = within(LONG, stream.read(&mut block)).await.unwrap();
        assert!(length > 0, "closed: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&block[..length]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
