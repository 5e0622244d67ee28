//! Does a client whose request is refused before its body was read know whether the connection goes on?

use std::time::Duration;

use mesh_server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::served::{ANSWER, Served, app, text, within};

const SOON: Duration = Duration::from_secs(5);

/// The head of a request that is refused whatever follows.
fn refused(length: usize, more: &str) -> String {
    format!(
        "POST /nowhere HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{more}\r\n"
    )
}

/// Reads until that text has come.
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
async fn a_short_body_that_nobody_wants_is_read_and_the_next_request_answered() {
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
async fn a_connection_that_cannot_go_on_says_so() {
    let served = Served::start(Server::new(app())).await;
    for (length, more, body) in
        [(5, "", ""), (5, "Expect: 100-continue\r\n", ""), (50_000_000, "", "hello"), (70_000, "", "hello")]
    {
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
