//! Resource exhaustion: many slow, silent or disconnected clients next to one that sends requests.

use std::io::Write as _;
use std::net::TcpStream;

use mesh_tests::{Database, Request, Server, encode, raise_file_limit, skip, wait_until};

use super::{POST, is_well};

/// Slow clients at a time.
const CLIENTS: usize = 5_000;
/// Files that the server and this process may have to open.
const FILES: u64 = 8_000;
/// Sends many reads over one connection, each of which must be answered.
fn reads_are_answered(server: &Server) {
    let mut connection = server.connect();
    let request = Request::get("/mesh/post/1", POST);
    assert!((0..50).all(|_| connection.send(&request).status == 200));
}

fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.process())).map_or(0, Iterator::count)
}

/// Waits until the server has no more open descriptors than before.
fn settles(server: &Server, before: usize) {
    wait_until("the descriptors are closed", || descriptors(server) <= before);
}

/// Attack without a session: slow, silent and disconnected clients.
#[test]
fn slow_clients_do_not_delay_others() {
    if !raise_file_limit(FILES) {
        return skip("a limit of 8,000 open files", "raise it with `ulimit -n`");
    }
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", "[limits]\nconnections_per_address = 6000\n");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    is_well(&server);
    let before = descriptors(&server);
    let query = encode(POST);
    let beginnings = [
        String::new(),
        "G".to_owned(),
        format!("GET /mesh/post/1 HTTP/1.1\r\nHost: localhost\r\nX-Mesh-Query: {}", &query[..5]),
        "POST /mesh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"query\":".to_owned(),
        "POST /mesh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"qu".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ];
    let mut waiting = Vec::new();
    for index in 0..CLIENTS {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(beginnings[index % beginnings.len()].as_bytes()).unwrap();
        waiting.push(stream);
    }
    // They send single bytes to keep their connections alive.
    for _ in 0..3 {
        for stream in &mut waiting {
            let _ = stream.write_all(b"a");
        }
        reads_are_answered(&server);
    }
    drop(waiting);
    settles(&server, before + 2);
    is_well(&server);
}

/// Clients disconnect at any point, with and without closing the connection properly.
#[test]
fn disconnected_clients_leave_no_descriptors_open() {
    let server = Server::with_database(&Database::blog_with_posts(5_000));
    is_well(&server);
    let before = descriptors(&server);
    let list = r#"{"post":{"$select":{"id":true,"title":true,"author":{"$select":{"name":true}}},"$page":{"first":200}}}"#;
    let get = Request::get("/mesh/post", list).bytes();
    let posted = Request::post("/mesh", &serde_json::json!({"query": list}).to_string()).bytes();
    let stream = Request::get("/mesh/post/1/events", POST).bytes();
    for round in 0..300_usize {
        let bytes = [&get, &posted, &stream][round % 3];
        let mut client = TcpStream::connect(server.address).unwrap();
        let part = if round % 2 == 0 { bytes.len() } else { round % bytes.len() };
        let _ = client.write_all(&bytes[..part]);
        // Dropping a connection with unread bytes sends a reset.
    }
    // A slow read may have opened a connection to the database, which has three.
    settles(&server, before + 30);
    reads_are_answered(&server);
    is_well(&server);
}
