//! The memory that idle connections and event streams hold; `cargo xtask bench memory` measures it in release mode.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use mesh_tests::{Database, PATIENCE, Request, Server, wait_until};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
const CLIENTS: usize = 1_000;
/// The maximum number of bytes per client, of which the buffers of the protocol take 16 KiB.
const MEMORY_PER_CLIENT_MAX: u64 = 48 * 1024;

fn serve(database: &Database) -> Server {
    let limits = "[limits]\nconnections_per_address = 2000\nstreams_per_address = 2000\n";
    let config = database.dir.write("mesh.toml", limits);
    Server::start(&["--config", &config, "--database", &database.url()])
}

fn read_until(socket: &mut TcpStream, text: &str) {
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while !seen.contains(text) {
        let length = socket.read(&mut bytes).expect("more of the reply");
        assert!(length > 0, "the connection ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
}

/// Opens connections, sends a request over each, and returns them with the memory before.
fn open(server: &Server, request: &Request) -> (Vec<TcpStream>, u64) {
    let open = || {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&request.bytes()).unwrap();
        read_until(&mut socket, "Rust at dawn");
        socket
    };
    // The first requests load data that stays in memory.
    drop((0..10).map(|_| open()).collect::<Vec<_>>());
    let before = server.memory();
    ((0..CLIENTS).map(|_| open()).collect(), before)
}

fn each(server: &Server, before: u64) -> u64 {
    server.memory().saturating_sub(before) / CLIENTS as u64
}

#[test]
fn idle_connections_hold_little_memory_and_serve_further_requests() {
    let database = Database::blog();
    let server = serve(&database);
    let read = Request::get("/mesh/post/1", TITLE);
    let (mut connections, before) = open(&server, &read);
    wait_until("connections hold little memory", || each(&server, before) < MEMORY_PER_CLIENT_MAX);
    eprintln!("an idle connection: {} bytes", each(&server, before));
    for connection in &mut connections {
        connection.write_all(&read.bytes()).unwrap();
        read_until(connection, "Rust at dawn");
    }
}

#[test]
fn event_streams_hold_little_memory() {
    let database = Database::blog();
    let server = serve(&database);
    let stream = Request::get("/mesh/post/1/events", TITLE);
    let (mut connections, before) = open(&server, &stream);
    wait_until("streams hold little memory", || each(&server, before) < MEMORY_PER_CLIENT_MAX);
    eprintln!("an event stream: {} bytes", each(&server, before));
    database.connect().execute_batch("UPDATE posts SET title = 'It rusts' WHERE id = 1").unwrap();
    for connection in &mut connections {
        read_until(connection, "It rusts");
    }
}
