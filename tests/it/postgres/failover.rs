//! Two servers over a PostgreSQL primary and two replicas, while processes are killed one after the other.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mesh_tests::kit::http;
use mesh_tests::{Cluster, Request, Server, TempDir, wait_until};

pub(super) const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer NOT NULL REFERENCES users);
INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo'), (3, '0');
INSERT INTO posts VALUES (1, 'Dawn', 1), (2, 'Map', 1), (3, 'Bread', 2);
";
pub(super) const SCHEMA: &str = r#"{
    "entities": {"user": {"fields": ["id", "name"], "writable": ["name"]}, "post": {"fields": ["id", "title"]}},
    "joins": {"user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"}}
}"#;
const QUERY: &str = r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true}}}}}"#;
const ANSWER: &str = r#"{"name":"Ada","posts":[{"title":"Dawn"},{"title":"Map"}]}"#;

/// Sends one request; `None` if there is no reply.
pub(super) fn try_send(address: SocketAddr, request: &Request) -> Option<(u16, String)> {
    let reply = http::send(&address.to_string(), request).ok()?;
    Some((reply.status, reply.text()))
}

fn read(address: SocketAddr) -> Option<(u16, String)> {
    try_send(address, &Request::get("/mesh/user/1", QUERY))
}

fn read_counter(address: SocketAddr) -> Option<(u16, String)> {
    try_send(address, &Request::get("/mesh/user/3", r#"{"user": {"$select": {"name": true}}}"#))
}

fn write_counter(address: SocketAddr, number: usize) -> Option<(u16, String)> {
    let body = format!(r#"{{"name": "{number}"}}"#);
    try_send(address, &Request::json("PUT", "/mesh/user/3", body))
}

pub(super) fn write_name(address: SocketAddr, name: &str) -> Option<(u16, String)> {
    let body = format!(r#"{{"name": "{name}"}}"#);
    try_send(address, &Request::json("PUT", "/mesh/user/2", body))
}

pub(super) fn read_name(address: SocketAddr) -> Option<(u16, String)> {
    try_send(address, &Request::get("/mesh/user/2", r#"{"user": {"$select": {"name": true}}}"#))
}

/// Clients that send requests to the servers in turn, like a load balancer.
pub(super) struct Load {
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
    stop: Arc<AtomicBool>,
    good: Arc<AtomicUsize>,
    pub(super) unavailable: Arc<AtomicUsize>,
    /// The value of the counter in the last write that was acknowledged.
    pub(super) written: Arc<AtomicUsize>,
    /// Whether the counter is written. It is locked during a write.
    writes: Arc<Mutex<bool>>,
    clients: Vec<thread::JoinHandle<()>>,
}

impl Load {
    pub(super) fn start(addresses: Vec<SocketAddr>) -> Self {
        let mut load = Self {
            addresses: Arc::new(Mutex::new(addresses)),
            stop: Arc::default(),
            good: Arc::default(),
            unavailable: Arc::default(),
            written: Arc::default(),
            writes: Arc::new(Mutex::new(true)),
            clients: Vec::new(),
        };
        load.clients.push(load.writer());
        for client in 0..4 {
            let (addresses, stop) = (Arc::clone(&load.addresses), Arc::clone(&load.stop));
            let (good, unavailable) = (Arc::clone(&load.good), Arc::clone(&load.unavailable));
            let written = Arc::clone(&load.written);
            load.clients.push(thread::spawn(move || {
                let mut turn = client;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let address = {
                        let addresses = addresses.lock().unwrap();
                        addresses[turn % addresses.len()]
                    };
                    let before = written.load(Ordering::SeqCst);
                    if let Some((200, body)) = read_counter(address) {
                        let found: usize = body
                            .trim_matches(|char: char| !char.is_ascii_digit())
                            .parse()
                            .unwrap_or_else(|_| panic!("{address} reads {body}"));
                        assert!(found >= before, "{address} reads {found} after {before} was written");
                    }
                    match read(address) {
                        Some((200, body)) => {
                            assert_eq!(body, ANSWER);
                            good.fetch_add(1, Ordering::Relaxed);
                        }
                        Some((503, _)) => {
                            unavailable.fetch_add(1, Ordering::Relaxed);
                        }
                        Some((status, body)) => panic!("{status} {body}"),
                        // The server was killed; the next one is tried.
                        None => {}
                    }
                }
            }));
        }
        load
    }

    /// Starts a client that writes a counter through the servers in turn.
    fn writer(&self) -> thread::JoinHandle<()> {
        let (addresses, stop) = (Arc::clone(&self.addresses), Arc::clone(&self.stop));
        let (written, writes) = (Arc::clone(&self.written), Arc::clone(&self.writes));
        thread::spawn(move || {
            let mut next = 1;
            while !stop.load(Ordering::Relaxed) {
                let may_write = writes.lock().unwrap();
                if !*may_write {
                    drop(may_write);
                    thread::yield_now();
                    continue;
                }
                let address = {
                    let addresses = addresses.lock().unwrap();
                    addresses[next % addresses.len()]
                };
                // A write without a response may have been performed, so its number is not used again.
                if let Some((200, _)) = write_counter(address, next) {
                    written.store(next, Ordering::SeqCst);
                }
                next += 1;
                drop(may_write);
                // A thread that pauses the writes takes the lock.
                thread::sleep(Duration::from_millis(1));
            }
        })
    }

    /// Stops writing the counter, and waits until the replicas have received all writes.
    fn pause_writes(&self, primary: &Cluster, replicas: &[Cluster]) {
        *self.writes.lock().unwrap() = false;
        replicas.iter().for_each(|replica| primary.wait_for_replica(replica));
    }

    /// Waits until further writes of the counter were answered.
    pub(super) fn wait_for_writes(&self, what: &str) {
        *self.writes.lock().unwrap() = true;
        let before = self.written.load(Ordering::SeqCst);
        wait_until(&format!("writes are answered {what}"), || self.written.load(Ordering::SeqCst) > before);
    }

    /// Waits until further reads were answered.
    pub(super) fn wait_for_reads(&self, what: &str) {
        let before = self.good.load(Ordering::Relaxed);
        wait_until(&format!("reads are answered {what}"), || {
            self.good.load(Ordering::Relaxed) >= before + 40
        });
    }

    pub(super) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().for_each(|client| client.join().unwrap());
    }
}

#[test]
fn reads_continue_while_servers_and_databases_are_killed() {
    let Some(mut primary) = Cluster::start() else { return };
    primary.execute(TABLES);
    let mut replicas = [primary.replica(), primary.replica()];
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let list = replicas.each_ref().map(|replica| format!("{:?}", replica.url())).join(", ");
    let config = format!("replicas = [{list}]\n[mutations]\nenabled = true\n");
    let config = folder.write("mesh.toml", &config);
    let url = primary.url();
    let serve = || Server::start(&["--config", &config, "--database", &url, "--schema", &schema]);
    let (one, other) = (serve(), serve());
    let load = Load::start(vec![one.address, other.address]);
    load.wait_for_reads("at first");
    load.wait_for_writes("at first");

    replicas[0].kill();
    load.wait_for_reads("without a replica");
    replicas[0].start_server();
    load.wait_for_reads("with the replica again");
    load.wait_for_writes("with the replica again");

    one.signal("KILL");
    load.wait_for_reads("without a server");
    *load.addresses.lock().unwrap() = vec![other.address];
    let one = serve();
    load.addresses.lock().unwrap().push(one.address);
    load.wait_for_reads("with a new server");
    load.wait_for_writes("with a new server");
    assert_eq!(load.unavailable.load(Ordering::Relaxed), 0, "no read is refused");

    // Without the primary only writes are refused. Replicas may lack writes that it had not sent to them.
    load.pause_writes(&primary, &replicas);
    assert_eq!(write_name(one.address, "Bob").map(|(status, _)| status), Some(200));
    replicas.iter().for_each(|replica| primary.wait_for_replica(replica));
    primary.kill();
    for _ in 0..6 {
        let (status, body) = write_name(one.address, "nobody").unwrap();
        assert_eq!(status, 503, "{body}");
        load.wait_for_reads("without the primary");
    }
    primary.start_server();
    wait_until("writes succeed again", || {
        write_name(one.address, "Bert").map(|(status, _)| status) == Some(200)
    });
    let reply = read_name(one.address);
    assert_eq!(reply, Some((200, r#"{"name":"Bert"}"#.to_owned())), "the server returns what it wrote");
    load.wait_for_writes("with the primary again");
    load.wait_for_reads("with the primary again");
    load.end();
}
