//! Do many streams cost little? A smaller version of what `cargo xtask bench events` measures.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mesh_tests::{Database, Server, command};

use super::{TITLE, request, write};

/// Streams of one record.
const STREAMS: usize = 400;

/// Opens a stream and reads its first event.
fn idle(server: &Server) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(&request("/post/1/events", TITLE).bytes()).unwrap();
    read_until(&mut socket, "Rust at dawn");
    socket
}

fn read_until(socket: &mut TcpStream, text: &str) {
    let mut seen = String::new();
    let mut bytes = [0; 4096];
    while !seen.contains(text) {
        let length = socket.read(&mut bytes).expect("what was to come");
        assert!(length > 0, "the stream ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
}

/// Bytes of memory that a process holds.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
}

/// A server that tells in a file each time it reads for streams.
fn counting(database: &Database) -> (Server, impl Fn() -> usize + use<>) {
    let log = database.dir.path().join("log");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--database", &database.url()]);
    serve.args(["--log", "mesh_server::events=debug"]).stderr(File::create(&log).unwrap());
    let readings = move || std::fs::read_to_string(&log).unwrap().matches("events: record read").count();
    (Server::spawn(&mut serve), readings)
}

/// How many files and sockets a process has open.
fn handles(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

#[test]
fn clients_that_vanish_cost_nothing() {
    let database = Database::blog();
    let (server, readings) = counting(&database);
    let sockets: Vec<_> = (0..50).map(|_| idle(&server)).collect();
    let open = handles(server.process());
    drop(sockets);
    let start = Instant::now();
    // Systems that do not tell have none to begin with.
    while open > 0 && handles(server.process()) > open - 50 {
        assert!(start.elapsed() < Duration::from_secs(5), "{} handles are left", handles(server.process()));
        std::thread::sleep(Duration::from_millis(10));
    }
    // Nobody watches, so nothing is read however much is written.
    let known = readings();
    for round in 0..5 {
        write(&database, &format!("UPDATE posts SET likes = {round} WHERE id = 1"));
        std::thread::sleep(Duration::from_millis(250));
    }
    assert_eq!(readings(), known);
}

#[test]
fn many_streams_of_one_record_all_get_a_change() {
    let database = Database::blog();
    let (server, readings) = counting(&database);
    let before = resident(server.process());
    let mut sockets: Vec<_> = (0..STREAMS).map(|_| idle(&server)).collect();
    let each = resident(server.process()).saturating_sub(before) / STREAMS as u64;
    assert!(each < 48 * 1024, "{each} bytes for a stream");
    let known = readings();
    assert!(known < STREAMS / 4, "{known} readings for {STREAMS} streams that began one after the other");
    let start = Instant::now();
    write(&database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    for socket in &mut sockets {
        read_until(socket, "Dusk");
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(readings(), known + 1, "one reading for all of them");
}

#[test]
fn clients_that_do_not_read_hold_up_nobody_and_fill_no_memory() {
    let database = Database::blog();
    let server = Server::of(&database);
    write(&database, "UPDATE posts SET title = 'Rust at dawn' || hex(zeroblob(100000)) WHERE id = 1");
    let _deaf: Vec<_> = (0..20)
        .map(|_| {
            let mut socket = TcpStream::connect(server.address).unwrap();
            socket.write_all(&request("/post/1/events", TITLE).bytes()).unwrap();
            socket
        })
        .collect();
    let mut listening = idle(&server);
    read_until(&mut listening, "\n\n");
    let before = resident(server.process());
    for round in 0..30 {
        let title = format!("'Round {round};' || hex(zeroblob(100000))");
        write(&database, &format!("UPDATE posts SET title = {title} WHERE id = 1"));
        read_until(&mut listening, &format!("Round {round};"));
    }
    let grown = resident(server.process()).saturating_sub(before);
    // Thirty changes of 200 kB for twenty clients would be 120 MB.
    assert!(grown < 40 << 20, "{grown} bytes more");
}
