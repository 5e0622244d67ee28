//! Limits on concurrent requests and connections.

use std::time::{Duration, Instant};

use http::Version;
use mesh_server::{Server, TransportLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{Frame, RST_STREAM, Raw};
use super::served::{ANSWER, Served, app, app_with, ask, text, within};

/// Longer than any wait of a test.
const LONG: Duration = Duration::from_secs(120);

/// Starts a server that admits two waiting requests.
async fn serve_two() -> Served {
    let limits = TransportLimits { request_timeout: LONG, ..TransportLimits::default() };
    let app = app_with(|app| {
        app.options.limits = limits;
        app.options.client_limits.requests = 2;
    });
    Served::start(Server::new(app)).await
}

/// Sends requests until one is answered with `status`. Returns how long that took.
async fn wait_for_status(served: &Served, status: u16) -> Duration {
    let start = Instant::now();
    loop {
        let (got, body) = within(LONG, ask(served.connect().await, Version::HTTP_11, "slow")).await;
        if got == status {
            return start.elapsed();
        }
        assert!(start.elapsed() < LONG, "{got} {body}");
    }
}

#[tokio::test]
async fn requests_above_the_limit_are_refused_at_once() {
    let served = serve_two().await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut stream = served.connect().await;
        stream.write_all(text("stuck").as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    wait_for_status(&served, 503).await;
    let mut stream = served.connect().await;
    let start = Instant::now();
    stream
        .write_all(text("stuck").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut refusal = String::new();
    within(LONG, stream.read_to_string(&mut refusal)).await.unwrap();
    assert!(start.elapsed() < LONG / 10, "{:?}", start.elapsed());
    let refusal = refusal.to_lowercase();
    assert!(refusal.starts_with("http/1.1 503 ") && refusal.contains("\r\nretry-after: 1\r\n"), "{refusal}");
    assert!(refusal.contains(r#""error":"unavailable""#), "{refusal}");
    // A request that needs no resolver is not affected by the limit.
    let mut stream = served.connect().await;
    stream
        .write_all(text("nowhere").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    within(LONG, stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("nowhere"), "{answer}");
    drop(waiting);
    wait_for_status(&served, 200).await;
}

#[tokio::test]
async fn a_client_that_disconnects_releases_its_permit() {
    let served = serve_two().await;
    for round in 0..4 {
        let mut raw = Raw::open(&served).await;
        let mut first = served.connect().await;
        first.write_all(text("stuck").as_bytes()).await.unwrap();
        raw.send(&Frame::request(1, "stuck")).await;
        wait_for_status(&served, 503).await;
        // The client disconnects by closing the connection, or by resetting an HTTP/2 stream.
        if round % 2 == 0 {
            drop(first);
        } else {
            raw.send(&Frame::new(RST_STREAM, 0, 1, &8_u32.to_be_bytes())).await;
        }
        let time = wait_for_status(&served, 200).await;
        assert!(time < LONG / 2, "{time:?}");
    }
}

#[tokio::test]
async fn connections_above_the_limit_wait_to_be_accepted() {
    let served = Served::start(Server { max_connections: 2, ..Server::new(app()) }).await;
    let (first, _second) = (served.connect().await, served.connect().await);
    let asking = tokio::spawn(ask(served.connect().await, Version::HTTP_11, "quick"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!asking.is_finished(), "not yet accepted");
    drop(first);
    assert_eq!(within(LONG, asking).await.unwrap(), (200, ANSWER.to_owned()));
}
