//! Attacks while an operator acts: requests beyond the limit of concurrent ones while the schema is loaded again and again,
//! and clients that keep connecting while the server stops.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_tests::{Database, Request, Server};

use super::{compares_times, duration};

/// The value of `limits.requests`.
const REQUESTS: usize = 3;
/// Clients that send more requests than that.
const WRITERS: usize = 12;
/// Clients that open a connection for each request.
const CONNECTORS: usize = 4;
/// The value of `shutdown_timeout`, and what the end of a process may take beyond it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
const END_MAX: Duration = Duration::from_secs(3);

const SCHEMA: &str = r#"{"entities": {"post": {"fields": ["id", "title"], "writable": true}}}"#;
const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

fn start(blog: &Database, config: &str) -> Server {
    let schema = blog.dir.write("schema.json", SCHEMA);
    let config = format!("database = \"{}\"\nschema = \"{schema}\"\n{config}", blog.url());
    Server::start(&["--config", &blog.dir.write("mesh.toml", &config)])
}

/// Returns the number of requests that wait for the database.
fn waiting(server: &Server) -> usize {
    let metrics = server.send(&Request::new("GET", "/metrics")).text();
    let count = metrics.lines().find_map(|line| line.strip_prefix("mesh_requests_waiting "));
    count.and_then(|count| count.parse().ok()).unwrap()
}

#[test]
fn reloads_do_not_multiply_the_limit_of_requests() {
    let blog = Database::blog();
    let config = format!("mutations.enabled = true\n[limits]\nrequests = {REQUESTS}\n");
    let server = start(&blog, &config);
    let lock = blog.connect();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (start, time) = (Instant::now(), duration() / 4);
    let (refused, mut reloads, mut peak) = (AtomicUsize::new(0), 0, 0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while start.elapsed() < time {
                    let request = Request::new("PUT", "/mesh/post/1").body(r#"{"title":"x"}"#);
                    let reply = server.send(&request.header("Content-Type", "application/json"));
                    // The time limit of a request that waits ends as well.
                    assert!([200, 500, 503].contains(&reply.status), "{}", reply.text());
                    refused.fetch_add(usize::from(reply.status == 503), Ordering::Relaxed);
                }
            });
        }
        while start.elapsed() < time {
            server.signal("HUP");
            reloads += 1;
            peak = peak.max(waiting(&server));
        }
        lock.execute_batch("COMMIT").unwrap();
    });
    let refused = refused.into_inner();
    eprintln!("soak: {reloads} reloads, {refused} writes refused, at most {peak} of {WRITERS} waited");
    assert!(peak <= REQUESTS, "{peak} requests waited");
    assert!(refused > 0);
}

#[test]
fn clients_that_keep_connecting_do_not_delay_the_end() {
    let blog = Database::blog();
    let mut server = start(&blog, &format!("shutdown_timeout = \"{}s\"\n", SHUTDOWN_TIMEOUT.as_secs()));
    let address = server.address;
    let request = Request::get("/mesh/post/1", TITLE).header("Connection", "close").bytes();
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CONNECTORS {
            scope.spawn(|| {
                while let Ok(mut stream) = TcpStream::connect(address) {
                    let mut reply = Vec::new();
                    let asked = stream.write_all(&request).and_then(|()| stream.read_to_end(&mut reply));
                    answered.fetch_add(usize::from(asked.is_ok()), Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(duration() / 10);
        let start = Instant::now();
        server.signal("TERM");
        assert_eq!(server.wait().code(), Some(0));
        let elapsed = start.elapsed();
        eprintln!(
            "soak: {} connections were answered; the server ended in {elapsed:?}",
            answered.load(Ordering::Relaxed)
        );
        assert!(!compares_times() || elapsed < END_MAX, "the end took {elapsed:?}");
    });
    assert!(answered.into_inner() > 0);
}
