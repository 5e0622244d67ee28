//! The cost of many streams; `cargo xtask bench events` measures the times.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mesh_tests::{Database, PATIENCE, Server, command, raise_file_limit, skip, wait_until};

use super::{TITLE, request, write};

/// Streams of one record.
const STREAMS: usize = 5_000;
/// Files that the server and this process may have to open.
const FILES: u64 = 8_000;
/// Settings that let one address hold that many streams.
const LIMITS: &str = "[limits]\nconnections_per_address = 6000\nstreams_per_address = 6000\n";

/// Opens a stream and reads its first event.
fn idle(server: &Server) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(&request("/post/1/events", TITLE).bytes()).unwrap();
    read_until(&mut socket, "Rust at dawn");
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

/// Starts a server and returns it with a function that counts its readings, taken from the log.
fn serve_with_readings(database: &Database) -> (Server, impl Fn() -> usize + use<>) {
    let log = database.dir.path().join("log");
    let config = database.dir.write("mesh.toml", LIMITS);
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--database", &database.url()]);
    serve.args(["--config", &config]);
    serve.args(["--log", "mesh_server::events=debug"]).stderr(File::create(&log).unwrap());
    let readings = move || std::fs::read_to_string(&log).unwrap().matches("events: read").count();
    (Server::spawn(&mut serve), readings)
}

/// Returns the number of readings once no more are logged. Another thread of the server writes the log.
fn settled(readings: impl Fn() -> usize) -> usize {
    let mut last = readings();
    wait_until("no more readings", || {
        std::thread::sleep(Duration::from_millis(300));
        last == std::mem::replace(&mut last, readings())
    });
    last
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
    let open = handles(server.process());
    drop(sockets);
    wait_until("all sockets are closed", || open == 0 || handles(server.process()) <= open - 50);
    // Without streams no change causes a reading.
    let known = settled(&readings);
    for round in 0..5 {
        write(&database, &format!("UPDATE posts SET likes = {round} WHERE id = 1"));
        std::thread::sleep(Duration::from_millis(250));
    }
    assert_eq!(settled(&readings), known);
}

#[test]
fn all_streams_of_a_record_get_a_change_from_one_reading() {
    if !raise_file_limit(FILES) {
        return skip("a limit of 8,000 open files", "raise it with `ulimit -n`");
    }
    let database = Database::blog();
    let (server, readings) = serve_with_readings(&database);
    let before = server.memory();
    let mut sockets: Vec<_> = (0..STREAMS).map(|_| idle(&server)).collect();
    let each = server.memory().saturating_sub(before) / STREAMS as u64;
    assert!(each < 48 * 1024, "{each} bytes for a stream");
    let known = settled(&readings);
    assert!(known < STREAMS / 4, "{known} readings for {STREAMS} streams that were opened in sequence");
    write(&database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    for socket in &mut sockets {
        read_until(socket, "Dusk");
    }
    wait_until("the reading is logged", || readings() > known);
    assert_eq!(settled(&readings), known + 1, "one reading for all streams");
}

#[test]
fn clients_that_do_not_read_delay_no_others_and_use_no_memory() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    write(&database, "UPDATE posts SET title = 'Rust at dawn' || hex(zeroblob(100000)) WHERE id = 1");
    let _blocked: Vec<_> = (0..20)
        .map(|_| {
            let mut socket = TcpStream::connect(server.address).unwrap();
            socket.write_all(&request("/post/1/events", TITLE).bytes()).unwrap();
            socket
        })
        .collect();
    let mut reading = idle(&server);
    read_until(&mut reading, "\n\n");
    let before = server.memory();
    for round in 0..30 {
        let title = format!("'Round {round};' || hex(zeroblob(100000))");
        write(&database, &format!("UPDATE posts SET title = {title} WHERE id = 1"));
        read_until(&mut reading, &format!("Round {round};"));
    }
    let grown = server.memory().saturating_sub(before);
    // Queueing 30 changes of 200 kB for 20 clients would take 120 MB.
    assert!(grown < 40 << 20, "{grown} bytes more");
}
