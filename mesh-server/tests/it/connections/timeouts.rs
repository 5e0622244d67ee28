//! Timeouts of connections: each wait for a client is limited, and time that the server needs does not count.

use std::time::{Duration, Instant};

use http::Version;
use mesh_server::{ClientLimits, Server, Timeouts, TransportLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::frames::{ACK, DATA, Frame, PING, Raw, SETTINGS, WINDOW_UPDATE};
use super::served::{ANSWER, Served, app, app_with, app_with_limits, ask, text, within};

const SHORT: Duration = Duration::from_millis(150);
/// Longer than any wait of a test.
const LONG: Duration = Duration::from_secs(120);

/// Returns timeouts that no test reaches.
fn long_timeouts() -> Timeouts {
    Timeouts { handshake: LONG, head: LONG, idle: LONG, write: LONG, ping: LONG, pong: LONG }
}

/// Starts a server for one connection at a time, so that serving another one shows that the previous one has ended.
async fn serve(timeouts: Timeouts) -> Served {
    Served::start(Server { timeouts, max_connections: 1, ..Server::new(app()) }).await
}

/// Reads until the connection is closed. Returns what was received and how long that took.
async fn read_until_closed(stream: &mut TcpStream) -> (String, Duration) {
    let (start, mut bytes) = (Instant::now(), Vec::new());
    let _ = within(LONG, stream.read_to_end(&mut bytes)).await;
    (String::from_utf8_lossy(&bytes).into_owned(), start.elapsed())
}

async fn assert_serves(served: &Served) {
    let asking = ask(served.connect().await, Version::HTTP_11, "quick");
    assert_eq!(within(LONG / 2, asking).await, (200, ANSWER.to_owned()));
}

#[tokio::test]
async fn a_head_that_does_not_arrive_times_out() {
    let served = serve(Timeouts { head: SHORT, ..long_timeouts() }).await;
    let (head, preface) = (text("quick"), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    for begun in ["", "G", &head[..head.len() - 2], &head[..20], "PR", &preface[..2]] {
        let mut stream = served.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let (reply, time) = read_until_closed(&mut stream).await;
        assert_eq!(reply, "", "{begun:?}");
        assert!(time >= SHORT / 2 && time < LONG / 2, "{begun:?}: {time:?}");
        assert_serves(&served).await;
    }
}

#[tokio::test]
async fn a_head_that_arrives_byte_by_byte_times_out() {
    let served = serve(Timeouts { head: SHORT, ..long_timeouts() }).await;
    // As the first and as the second request of a connection.
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
            assert!(start.elapsed() < LONG, "the server still reads");
        }
        drop(stream);
        assert_serves(&served).await;
    }
}

#[tokio::test]
async fn the_idle_timeout_applies_between_requests() {
    let idle = Duration::from_millis(600);
    let served = serve(Timeouts { head: SHORT, idle, ..long_timeouts() }).await;
    let mut stream = served.connect().await;
    for _ in 0..2 {
        stream.write_all(text("quick").as_bytes()).await.unwrap();
        assert!(reply(&mut stream).await.ends_with(ANSWER));
        tokio::time::sleep(2 * SHORT).await;
    }
    let (last, time) = read_until_closed(&mut stream).await;
    assert_eq!(last, "");
    assert!(time >= idle / 4 && time < LONG / 2, "{time:?}");
    assert_serves(&served).await;
}

#[tokio::test]
async fn a_slow_request_is_not_idle() {
    let time = Duration::from_millis(60);
    let served = serve(Timeouts { head: time, idle: time, write: time, ..long_timeouts() }).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let asking = ask(served.connect().await, version, "slow");
        assert_eq!(within(LONG / 2, asking).await, (200, ANSWER.to_owned()), "{version:?}");
    }
}

#[tokio::test]
async fn an_idle_http2_connection_is_closed_with_goaway() {
    let served = serve(Timeouts { head: SHORT, idle: 2 * SHORT, ..long_timeouts() }).await;
    // Before the first request and after one.
    for entity in [None, Some("quick")] {
        let mut raw = Raw::open(&served).await;
        if let Some(entity) = entity {
            raw.send(&Frame::request(1, entity)).await;
            assert_eq!(raw.answer(1).await, Ok(()));
        }
        // Frames that are no requests do not count as activity.
        raw.send(&Frame::new(PING, 0, 0, &[7; 8])).await;
        assert_eq!(raw.goodbye().await, Some(0), "no error");
        assert_serves(&served).await;
    }
}

#[tokio::test]
async fn an_http2_client_that_answers_no_ping_is_closed() {
    let served = serve(Timeouts { ping: SHORT, pong: SHORT, ..long_timeouts() }).await;
    let mut raw = Raw::open(&served).await;
    raw.send(&Frame::request(1, "stuck")).await;
    // The client reads, but never answers a ping.
    raw.until_closed().await;
    assert_serves(&served).await;
}

#[tokio::test]
async fn a_client_that_stops_reading_is_closed_and_a_slow_one_is_not() {
    let served = serve(Timeouts { write: SHORT, ..long_timeouts() }).await;
    let mut stream = served.connect().await;
    stream.write_all(text("large").as_bytes()).await.unwrap();
    assert_serves(&served).await;
    drop(stream);
    // A slow client that keeps reading receives the whole reply.
    let mut stream = served.connect().await;
    stream.write_all(text("large").as_bytes()).await.unwrap();
    let (mut block, mut length) = (vec![0; 4 << 20], 0);
    while length < 16 << 20 {
        length += within(LONG, stream.read(&mut block)).await.unwrap();
        tokio::time::sleep(SHORT / 10).await;
    }
}

#[tokio::test]
async fn an_http2_client_with_a_closed_window_is_closed_and_a_slow_one_is_not() {
    let served = serve(Timeouts { write: 4 * SHORT, ..long_timeouts() }).await;
    // Large and small replies, with a window that is closed from the start, and one that closes within a reply.
    for (entity, window) in [("large", 0_u32), ("quick", 0), ("large", 100_000)] {
        let mut raw = Raw::open(&served).await;
        let window = [&[0, 4], &window.to_be_bytes()[..]].concat();
        raw.send(&Frame::new(SETTINGS, 0, 0, &window)).await;
        raw.send(&Frame::request(1, entity)).await;
        // The client answers all other streams and pings.
        while let Some(frame) = raw.next().await {
            if frame.kind == PING && frame.flags == 0 {
                raw.send(&Frame { flags: ACK, ..frame }).await;
            }
        }
        assert_serves(&served).await;
    }
    let mut raw = Raw::open(&served).await;
    raw.send(&Frame::request(1, "large")).await;
    let mut length = 0;
    while length < 1 << 20 {
        let frame = raw.next().await.expect("more of the reply");
        if frame.kind == DATA {
            length += frame.payload.len();
            tokio::time::sleep(SHORT / 30).await;
            let more = u32::try_from(frame.payload.len()).unwrap().to_be_bytes();
            raw.send(&Frame::new(WINDOW_UPDATE, 0, 0, &more)).await;
            raw.send(&Frame::new(WINDOW_UPDATE, 0, 1, &more)).await;
        }
    }
}

/// While unread replies take too much memory, those are closed that are read slowest.
#[tokio::test]
async fn slow_readers_make_room_for_others() {
    let mut limits = ClientLimits::default();
    limits.unread_bytes = 20 << 20;
    let app = app_with(|app| app.options.client_limits = limits);
    let served = Served::start(Server { timeouts: long_timeouts(), ..Server::new(app) }).await;
    let mut slow = served.connect().await;
    slow.write_all(text("large").as_bytes()).await.unwrap();
    // A reply alone does not exceed the bound.
    tokio::time::sleep(2 * SHORT).await;
    let mut other = served.connect().await;
    other.write_all(text("large").as_bytes()).await.unwrap();
    let (mut block, mut length) = (vec![0; 1 << 20], 0);
    while length < 16 << 20 {
        length += within(LONG, other.read(&mut block)).await.unwrap();
        tokio::time::sleep(SHORT / 2).await;
    }
    let (reply, _) = read_until_closed(&mut slow).await;
    assert!(reply.len() < 16 << 20, "the connection is closed within the reply");
}

#[tokio::test]
async fn a_body_that_stalls_is_refused() {
    let limits = TransportLimits { body_timeout: SHORT, request_timeout: LONG, ..TransportLimits::default() };
    let server =
        Server { timeouts: long_timeouts(), max_connections: 1, ..Server::new(app_with_limits(limits)) };
    let served = Served::start(server).await;
    let head = "POST /mesh HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\n";
    for rest_of_head in
        ["Content-Length: 100\r\n\r\n{\"query\"", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"que"]
    {
        let mut stream = served.connect().await;
        stream.write_all(format!("{head}{rest_of_head}").as_bytes()).await.unwrap();
        let (reply, time) = read_until_closed(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 400 ") && reply.contains("too slowly"), "{reply}");
        assert!(time >= SHORT / 2 && time < LONG / 2, "{time:?}");
        assert_serves(&served).await;
    }
    let mut raw = Raw::open(&served).await;
    raw.send(&Frame::post(1)).await;
    raw.send(&Frame::new(0, 0, 1, b"{\"que")).await;
    assert_eq!(raw.status(1).await, 400);
}

#[tokio::test]
async fn a_request_that_exceeds_its_time_is_answered_with_timeout() {
    let limits = TransportLimits { request_timeout: SHORT, ..TransportLimits::default() };
    let served = Served::start(Server::new(app_with_limits(limits))).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (status, body) = within(LONG / 2, ask(served.connect().await, version, "stuck")).await;
        assert!(status == 500 && body.contains(r#""code":"TIMEOUT""#), "{status} {body}");
    }
    // A body that arrives at a sufficient rate, but too late as a whole.
    let mut stream = served.connect().await;
    let head = "POST /mesh HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let start = Instant::now();
    while start.elapsed() < 2 * SHORT && stream.write_all(&[b' '; 100]).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (reply, _) = read_until_closed(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 400 ") && reply.contains("in time"), "{reply}");
}

/// Reads one HTTP/1.1 reply.
async fn reply(stream: &mut TcpStream) -> String {
    let (mut bytes, mut block) = (Vec::new(), [0; 4096]);
    while !bytes.ends_with(b"}") {
        let length = within(LONG, stream.read(&mut block)).await.unwrap();
        assert!(length > 0, "closed: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&block[..length]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
