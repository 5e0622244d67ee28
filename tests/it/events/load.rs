//! The cost of many streams; `cargo xtask bench events` measures the times.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;

use mesh_tests::{Database, PATIENCE, Server, command, wait_until};

use super::{TITLE, open, request, write};

/// Streams of one record.
const STREAMS: usize = 500;
/// Settings that let one address hold that many streams.
const LIMITS: &str = "[limits]\nconnections_per_address = 600\nstreams_per_address = 600\n";

/// Opens a stream and reads its first event.
fn idle(server: &Server) -> TcpStream {
    let mut socket = unread(server);
    read_until(&mut socket, "Rust at dawn");
    socket
}

/// Opens a stream and reads nothing.
fn unread(server: &Server) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(&request("/post/1/events", TITLE).bytes()).unwrap();
    socket
}

fn read_until(socket: &mut TcpStream, text: &str) {
    let mut seen = String::new();
    let mut bytes = [0; 4096];
    while !seen.contains(text) {
        let length = socket.read(&mut bytes).expect("more of the stream");
        assert!(length > 0, "the stream ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
}

/// Starts a server and returns it with a function that counts its readings of posts, taken from the log.
fn serve_with_readings(database: &Database) -> (Server, impl Fn() -> usize + use<>) {
    let log = database.dir.path().join("log");
    let config = database.dir.write("mesh.toml", LIMITS);
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--database", &database.url()]);
    serve.args(["--config", &config]);
    serve.args(["--log", "mesh_server::events=debug"]).stderr(File::create(&log).unwrap());
    let readings = move || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines().filter(|line| line.contains("events: read") && line.contains("post")).count()
    };
    (Server::spawn(&mut serve), readings)
}

/// Returns the number of open files and sockets of a process; 0 if the system does not report it.
fn handles(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

#[test]
fn disconnected_clients_cost_nothing() {
    let database = Database::blog();
    let (server, readings) = serve_with_readings(&database);
    let sockets: Vec<_> = (0..50).map(|_| idle(&server)).collect();
    let opened = handles(server.process());
    drop(sockets);
    wait_until("all sockets are closed", || opened == 0 || handles(server.process()) <= opened - 50);
    // A change is read for the stream that is left, and for no post.
    let known = readings();
    let mut other = open(&server, "/user/1/events", r#"{"user":{"$select":{"name":true}}}"#);
    other.data();
    for round in 0..5 {
        write(&database, &format!("UPDATE users SET name = 'Ann {round}' WHERE id = 1"));
        assert!(other.data().contains(&format!("Ann {round}")));
    }
    // A reading that had begun may still have ended.
    assert!(readings() <= known + 1, "{} readings", readings() - known);
}

#[test]
fn all_streams_of_a_record_share_the_readings_of_a_change() {
    let database = Database::blog();
    let (server, readings) = serve_with_readings(&database);
    let before = server.memory();
    let mut sockets: Vec<_> = (0..STREAMS).map(|_| idle(&server)).collect();
    let each = server.memory().saturating_sub(before) / STREAMS as u64;
    assert!(each < 48 * 1024, "{each} bytes for a stream");
    let known = readings();
    for title in ["Dusk", "Noon"] {
        write(&database, &format!("UPDATE posts SET title = '{title}' WHERE id = 1"));
        for socket in &mut sockets {
            read_until(socket, title);
        }
    }
    wait_until("the readings are logged", || readings() >= known + 2);
    let more = readings() - known;
    assert!(more < STREAMS / 10, "{more} readings of two changes");
}

#[test]
fn clients_that_do_not_read_delay_no_others_and_use_no_memory() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    write(&database, "UPDATE posts SET title = 'Rust at dawn' || hex(zeroblob(100000)) WHERE id = 1");
    let _blocked: Vec<_> = (0..30).map(|_| unread(&server)).collect();
    let mut reading = idle(&server);
    read_until(&mut reading, "\n\n");
    let before = server.memory();
    for round in 0..15 {
        let title = format!("'Round {round};' || hex(zeroblob(100000))");
        write(&database, &format!("UPDATE posts SET title = {title} WHERE id = 1"));
        read_until(&mut reading, &format!("Round {round};"));
    }
    let grown = server.memory().saturating_sub(before);
    // Queueing 15 changes of 200 kB for 30 clients would take 90 MB.
    assert!(grown < 40 << 20, "{grown} bytes more");
}
