//! Two servers over a PostgreSQL primary and two replicas, while processes are killed one after the other.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mesh_tests::{Cluster, Server, TempDir, encode};

const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer NOT NULL REFERENCES users);
INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
INSERT INTO posts VALUES (1, 'Dawn', 1), (2, 'Map', 1), (3, 'Bread', 2);
";
const SCHEMA: &str = r#"{
    "entities": {"user": {"fields": ["id", "name"], "writable": ["name"]}, "post": {"fields": ["id", "title"]}},
    "joins": {"user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"}}
}"#;
const QUERY: &str = r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true}}}}}"#;
const ANSWER: &str = r#"{"name":"Ada","posts":[{"title":"Dawn"},{"title":"Map"}]}"#;

/// Sends one request over a new connection; `None` if there is no reply.
fn try_send(address: SocketAddr, head: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    };
    write!(stream, "{head}Host: x\r\nConnection: close\r\n{length}\r\n{body}").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let status = reply.split(' ').nth(1)?.parse().ok()?;
    Some((status, reply.split_once("\r\n\r\n")?.1.to_owned()))
}

fn read(address: SocketAddr) -> Option<(u16, String)> {
    try_send(address, &format!("GET /mesh/user/1 HTTP/1.1\r\nX-Mesh-Query: {}\r\n", encode(QUERY)), "")
}

fn write_name(address: SocketAddr, name: &str) -> Option<(u16, String)> {
    try_send(address, "PUT /mesh/user/2 HTTP/1.1\r\n", &format!(r#"{{"name": "{name}"}}"#))
}

/// Clients that send requests to the servers in turn, like a load balancer.
struct Load {
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
    stop: Arc<AtomicBool>,
    good: Arc<AtomicUsize>,
    unavailable: Arc<AtomicUsize>,
    clients: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn start(addresses: Vec<SocketAddr>) -> Self {
        let mut load = Self {
            addresses: Arc::new(Mutex::new(addresses)),
            stop: Arc::default(),
            good: Arc::default(),
            unavailable: Arc::default(),
            clients: Vec::new(),
        };
        for client in 0..4 {
            let (addresses, stop) = (Arc::clone(&load.addresses), Arc::clone(&load.stop));
            let (good, unavailable) = (Arc::clone(&load.good), Arc::clone(&load.unavailable));
            load.clients.push(thread::spawn(move || {
                let mut turn = client;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let address = {
                        let addresses = addresses.lock().unwrap();
                        addresses[turn % addresses.len()]
                    };
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

    /// Waits until further reads were answered.
    fn wait_for_reads(&self, what: &str) {
        let (before, start) = (self.good.load(Ordering::Relaxed), Instant::now());
        while self.good.load(Ordering::Relaxed) < before + 40 {
            assert!(start.elapsed() < Duration::from_secs(5), "no reads within 5 s: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn end(self) {
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
    let config = format!("replicas = [{list}]\n[mutations]\nenabled = true\n[postgres]\nwait = \"500ms\"\n");
    let config = folder.write("mesh.toml", &config);
    let url = primary.url();
    let serve = || Server::start(&["--config", &config, "--database", &url, "--schema", &schema]);
    let (one, other) = (serve(), serve());
    let load = Load::start(vec![one.address, other.address]);
    load.wait_for_reads("at first");

    replicas[0].kill();
    load.wait_for_reads("without a replica");
    replicas[0].start_server();
    load.wait_for_reads("with the replica again");

    one.signal("KILL");
    load.wait_for_reads("without a server");
    *load.addresses.lock().unwrap() = vec![other.address];
    let one = serve();
    load.addresses.lock().unwrap().push(one.address);
    load.wait_for_reads("with a new server");
    assert_eq!(load.unavailable.load(Ordering::Relaxed), 0, "nothing so far needs to be refused");

    // Without the primary only writes are refused.
    assert_eq!(write_name(one.address, "Bob").map(|(status, _)| status), Some(200));
    thread::sleep(Duration::from_millis(500));
    primary.kill();
    let away = Instant::now();
    while away.elapsed() < Duration::from_secs(3) {
        let (status, body) = write_name(one.address, "nobody").unwrap();
        assert_eq!(status, 503, "{body}");
        load.wait_for_reads("without the primary");
    }
    primary.start_server();
    let back = Instant::now();
    while write_name(one.address, "Bert").map(|(status, _)| status) != Some(200) {
        assert!(back.elapsed() < Duration::from_secs(5), "no writes within 5 s");
    }
    let reply = try_send(
        one.address,
        &format!(
            "GET /mesh/user/2 HTTP/1.1\r\nX-Mesh-Query: {}\r\n",
            encode(r#"{"user": {"$select": {"name": true}}}"#)
        ),
        "",
    );
    assert_eq!(reply, Some((200, r#"{"name":"Bert"}"#.to_owned())), "the own write is seen");
    load.wait_for_reads("with the primary again");
    load.end();
}

const PUT: &str = "PUT /mesh/word";

/// Writes a text; returns status and body.
fn write_text(server: &Server, id: &str, text: &str) -> (u16, String) {
    try_send(server.address, &format!("{PUT}/{id} HTTP/1.1\r\n"), &format!(r#"{{"text": "{text}"}}"#))
        .unwrap()
}

#[test]
fn written_ids_and_texts_are_compared_exactly() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE words (id integer PRIMARY KEY, text text, small smallint)");
    cluster.execute("INSERT INTO words VALUES (1, 'été', 1), (2, 'hiver', 2), (3, 'a\\', 3)");
    let folder = TempDir::new();
    let schema = folder.write(
        "schema.json",
        r#"{
            "entities": {"word": {"fields": ["id", "text", "small"], "writable": ["text", "small"]}},
            "policies": {"*": {"word": {
                "writable": true, "$where": {"or": [
                    {"field": "text", "op": "ilike", "value": "É%"}, {"field": "text", "op": "like", "value": "_\\"}
                ]}
            }}}
        }"#,
    );
    let config = folder.write("mesh.toml", "[mutations]\nenabled = true\n");
    let server = Server::start(&["--config", &config, "--database", &cluster.url(), "--schema", &schema]);
    assert_eq!(write_text(&server, "1", "Épée").0, 200, "letters of all of Unicode are folded");
    assert_eq!(write_text(&server, "2", "Épée").0, 404, "outside of what the policy shows");
    assert_eq!(write_text(&server, "1", "hiver").0, 403, "to outside of what it shows");
    // A backslash at the end of a pattern is literal.
    assert_eq!(write_text(&server, "3", r"c\\").0, 200, "a text with a backslash at its end");
    assert_eq!(write_text(&server, "3", "d").0, 403, "to a text without one");
    for id in ["4", "2147483648", "99999999999", "9223372036854775807"] {
        let (status, body) = write_text(&server, id, "Épée");
        assert_eq!(status, 404, "{id}: {body}");
    }
    let wide = try_send(server.address, &format!("{PUT}/1 HTTP/1.1\r\n"), r#"{"small": 99999}"#).unwrap();
    assert_eq!(wide.0, 400, "a value that does not fit is another matter: {}", wide.1);
}
