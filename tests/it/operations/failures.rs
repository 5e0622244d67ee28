//! Failures of clients and of the machine: signals under load, a blocked log, exhausted descriptors, slow reads.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mesh_tests::{
    Connection, Database, Request, Server, command, connect_from, program, wait_until, without_settings,
};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;

/// A view that takes minutes to read, and one that takes long enough to be moved to a background thread.
const SLOW_VIEWS: &str = "
CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO posts VALUES (1, 'Rust at dawn');
CREATE VIEW endless AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000000000) SELECT sum(i) AS total FROM c;
CREATE VIEW long AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10000) SELECT sum(i) AS total FROM c;
";

fn first() -> Request {
    Request::get("/mesh/post/1", POST)
}

fn view(name: &str) -> Request {
    Request::get(&format!("/mesh/{name}"), &format!("{{ {name} total }}")).header("X-Mesh-Format", "ql")
}

/// Sends sequential requests over as few connections as the server allows, until the listener is closed.
fn send_until_closed(server: &Server, signalled: &AtomicBool, answered: &AtomicU32, lost: &AtomicU32) {
    let request = first().bytes();
    while let Ok(stream) = TcpStream::connect(server.address) {
        let after_signal = signalled.load(Ordering::SeqCst);
        let mut connection = Connection::from_stream(stream);
        let (mut answers, mut since) = (0, Instant::now());
        loop {
            connection.write(&request);
            let silent = since.elapsed();
            match connection.read(false) {
                Some(reply) => {
                    assert_eq!(reply.text(), r#"{"id":1}"#);
                    answered.fetch_add(1, Ordering::SeqCst);
                    (answers, since) = (answers + 1, Instant::now());
                    if reply.header("connection") == Some("close") {
                        break;
                    }
                }
                None => {
                    // The kernel may complete a connection that the server no longer accepts, and a client that
                    // was delayed on a busy machine counts as idle.
                    if (answers > 0 || !after_signal) && silent < Duration::from_millis(100) {
                        lost.fetch_add(1, Ordering::SeqCst);
                    }
                    break;
                }
            }
        }
    }
}

#[test]
fn no_request_is_lost_in_a_shutdown_under_load() {
    for _ in 0..3 {
        let mut server = Server::with_database(&Database::blog());
        let (signalled, answered, lost) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| send_until_closed(&server, &signalled, &answered, &lost));
            }
            wait_until("requests are answered", || answered.load(Ordering::SeqCst) >= 200);
            signalled.store(true, Ordering::SeqCst);
            server.signal("TERM");
        });
        assert_eq!(server.wait().code(), Some(0));
        assert_eq!(lost.load(Ordering::SeqCst), 0, "of {}", answered.load(Ordering::SeqCst));
    }
}

#[test]
fn a_blocked_log_does_not_block_requests() {
    let blog = Database::blog();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--database", &blog.url()];
    // The pipe fills up after a few hundred lines and is never read.
    let mut server = Server::spawn(command(&arguments).stderr(Stdio::piped()));
    let mut connection = server.connect();
    let wrong = Request::get(&format!("/mesh/post/{}", "1".repeat(1000)), "{ nonsense");
    for _ in 0..500 {
        assert_eq!(connection.send(&wrong).status, 400);
        assert_eq!(connection.send(&first()).text(), r#"{"id":1}"#);
    }
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_server_recovers_from_exhausted_descriptors() {
    let blog = Database::blog();
    let serve = format!(
        "ulimit -n 100; exec {} serve --listen 127.0.0.1:0 --log off --database {}",
        program().display(),
        blog.url()
    );
    let mut shell = without_settings("sh");
    let mut server = Server::spawn(shell.args(["-c", &serve]));
    for _ in 0..2 {
        let mut open: Vec<Connection> = Vec::new();
        for client in 1..=150 {
            let stream = connect_from(Ipv4Addr::new(127, 0, 1, client), server.address).unwrap();
            let mut connection = Connection::from_stream(stream);
            connection.write(&first().bytes());
            open.push(connection);
        }
        // The first ones are answered: half of the descriptors are for connections. The last ones wait in the backlog.
        for answered in [0, 49] {
            assert_eq!(open[answered].read(false).expect("a reply").status, 200);
        }
        drop(open.drain(..120));
        for mut waiting in open {
            assert_eq!(
                waiting.read(false).expect("a reply after descriptors are free").text(),
                r#"{"id":1}"#
            );
        }
        assert_eq!(server.send(&first()).status, 200);
    }
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_read_that_times_out_is_stopped_and_its_connection_remains_usable() {
    let database = Database::new(SLOW_VIEWS);
    let config = database.dir.write("mesh.toml", "request_timeout = '2s'\ncache.responses = 0\n");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    let mut connection = server.connect();
    for _ in 0..2 {
        let start = Instant::now();
        let reply = connection.send(&view("endless"));
        let time = start.elapsed();
        assert_eq!((reply.status, &reply.json()["code"]), (500, &"TIMEOUT".into()), "{}", reply.text());
        assert!(time >= Duration::from_millis(1900), "{time:?}");
        assert_eq!(connection.send(&view("long")).status, 200);
    }
}
