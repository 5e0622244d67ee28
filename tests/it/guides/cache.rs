//! nginx as a cache in front of a server, with the configuration of `docs/caching.md`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mesh_tests::{Connection, Database, NginxCache, Request, Response, Server, wait_for, wait_until};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// How long caches may keep a post, plus the second that nginx may add because it counts whole seconds.
const STALE_MAX: Duration = Duration::from_secs(2);

fn is_installed() -> bool {
    super::are_installed(&["nginx"])
}

/// Serves a database with posts that caches may keep, and purges a cache.
fn serve(blog: &Database, control: &str, cache: Option<&NginxCache>) -> Server {
    let mut settings = format!(
        "database = \"{}\"\n[caching.entities]\npost = \"{control}\"\nuser = \"no-store\"\n",
        blog.url()
    );
    if let Some(cache) = cache {
        settings += &format!("[caching.purge]\nurls = [\"{}\"]\n", cache.purge_url());
    }
    Server::start(&["--config", &blog.dir.write("mesh.toml", &settings)])
}

fn nginx() -> Command {
    Command::new("nginx")
}

/// Sends a read; returns whether nginx had the response, and the response.
fn read(cache: &NginxCache, request: &Request) -> (String, Response) {
    let reply = Connection::connect(cache.address).send(request);
    assert_eq!(reply.status, 200, "{}", reply.text());
    (reply.header("x-cache-status").unwrap_or_default().to_owned(), reply)
}

/// Returns the value of a metric.
fn metric(server: &Server, name: &str) -> f64 {
    let text = server.send(&Request::new("GET", "/metrics")).text();
    let line = text.lines().find(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('{'))
    });
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("the metric")
}

/// Waits until everything was purged once.
fn wait_for_purge(server: &Server) {
    wait_until("the first purge", || metric(server, "mesh_purges_total") > 0.0);
}

fn set_title(blog: &Database, title: &str) {
    blog.connect().execute("UPDATE posts SET title = ? WHERE id = 1", [title]).unwrap();
}

#[test]
fn repeated_reads_are_answered_by_the_cache() {
    if !is_installed() {
        return;
    }
    let blog = Database::blog();
    let server = serve(&blog, "public, max-age=0, s-maxage=1", None);
    let registered =
        server.send(&Request::post("/mesh/queries", &serde_json::json!({"query": TITLE}).to_string()));
    let id = registered.json()["id"].as_str().expect("an id").to_owned();
    let by_id = |path: &str| Request::new("GET", path).header("X-Mesh-Query-Id", &id);
    let mut cache = NginxCache::new();
    cache.start(nginx(), server.address, |config| config).unwrap();
    let reads = || metric(&server, "mesh_reads_total");

    // The second read within `s-maxage` does not reach the server.
    let begin = reads();
    let (status, first) = read(&cache, &by_id("/mesh/post/1"));
    assert_eq!((status.as_str(), reads()), ("MISS", begin + 1.0));
    let again = wait_for("a hit", || {
        let (status, again) = read(&cache, &by_id("/mesh/post/1"));
        if status == "HIT" { Ok(again) } else { Err(status) }
    });
    assert_eq!(again.text(), first.text());
    let hits = reads();
    let mut found = 0;
    while found < 20 && read(&cache, &by_id("/mesh/post/1")).0 == "HIT" {
        found += 1;
    }
    assert!(found > 0 && reads() <= hits + 1.0, "{found} hits, {} reads", reads() - hits);

    // Other queries, formats and paths are other responses.
    let plain = r#"{"post":{"$select":{"id":true}}}"#;
    assert_eq!(read(&cache, &Request::get("/mesh/post/1", plain)).1.text(), r#"{"id":1}"#);
    assert_eq!(read(&cache, &Request::get("/mesh/post/1", TITLE)).1.text(), first.text());
    assert_eq!(read(&cache, &by_id("/mesh/post/2")).1.text(), r#"{"title":"Slow bread"}"#);

    // Afterwards, an unchanged response is revalidated by its tag, without its body.
    wait_until("the response is revalidated", || read(&cache, &by_id("/mesh/post/1")).0 == "REVALIDATED");

    // A changed response is never sent after the cached one has expired.
    let (status, _) = wait_for("a response from the server", || {
        let (status, reply) = read(&cache, &by_id("/mesh/post/1"));
        if status == "HIT" { Err(status) } else { Ok((status, reply)) }
    });
    let fetched = Instant::now();
    assert_eq!(status, "REVALIDATED");
    set_title(&blog, "Rust at noon");
    wait_until("the new title", || {
        let asked = fetched.elapsed();
        let (status, reply) = read(&cache, &by_id("/mesh/post/1"));
        let is_new = reply.text() == r#"{"title":"Rust at noon"}"#;
        assert!(
            is_new || status == "HIT" && asked <= STALE_MAX,
            "{status} after {asked:?}: {}",
            reply.text()
        );
        is_new
    });

    // What is not cacheable passes through.
    let user = Request::get("/mesh/user/1", r#"{"user":{"$select":{"name":true}}}"#);
    let (status, reply) = read(&cache, &user);
    assert_eq!((status.as_str(), reply.header("cache-control")), ("MISS", Some("no-store")));
    let before = reads();
    read(&cache, &user);
    assert_eq!(reads(), before + 1.0);
}

#[test]
fn errors_are_not_cached() {
    if !is_installed() {
        return;
    }
    let blog = Database::blog();
    let server = serve(&blog, "public, max-age=3600", None);
    let mut cache = NginxCache::new();
    cache.start(nginx(), server.address, |config| config).unwrap();
    let by_id = |id: &str| {
        let request = Request::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id);
        Connection::connect(cache.address).send(&request)
    };
    let body = serde_json::json!({"query": TITLE}).to_string();
    let id = "q_00000000000000000000000000000000";
    assert_eq!(by_id(id).status, 400);
    let registered = server.send(&Request::post("/mesh/queries", &body));
    let id = registered.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(by_id(&id).text(), r#"{"title":"Rust at dawn"}"#);
    let wrong = Request::get("/mesh/post/1", r#"{"post":{"$select":{"titel":true}}}"#);
    let [first, second] = [(); 2].map(|()| Connection::connect(cache.address).send(&wrong));
    assert_eq!((first.status, second.status), (400, 400));
    assert_ne!(first.json()["requestId"], second.json()["requestId"]);
}

#[test]
fn a_change_ends_the_time_of_a_cached_response() {
    if !is_installed() {
        return;
    }
    let blog = Database::blog();
    let mut cache = NginxCache::new();
    let server = serve(&blog, "public, max-age=3600", Some(&cache));
    // The server has to repeat its first purge, because nginx starts later.
    cache.start(nginx(), server.address, |config| config).unwrap();
    wait_for_purge(&server);
    let title = Request::get("/mesh/post/1", TITLE);
    assert_eq!(read(&cache, &title).1.text(), r#"{"title":"Rust at dawn"}"#);
    for round in 0..5 {
        wait_until("a hit", || read(&cache, &title).0 == "HIT");
        let purges = metric(&server, "mesh_purges_total");
        set_title(&blog, &format!("Version {round}"));
        // After the purge, no read gets the old response, and the cache has the new one.
        wait_until("the purge", || metric(&server, "mesh_purges_total") > purges);
        for _ in 0..10 {
            assert_eq!(read(&cache, &title).1.text(), format!(r#"{{"title":"Version {round}"}}"#));
        }
    }
    assert_eq!(metric(&server, "mesh_purge_lag_seconds"), 0.0);
}

#[test]
fn a_response_that_is_older_than_the_purge_is_not_used() {
    if !is_installed() {
        return;
    }
    let blog = Database::blog();
    let mut cache = NginxCache::new();
    let server = serve(&blog, "public, max-age=3600", Some(&cache));
    let (gate, held, release) = start_gate(server.address);
    cache.start(nginx(), gate, |config| config).unwrap();
    wait_for_purge(&server);
    let title = Request::get("/mesh/post/1", TITLE);
    std::thread::scope(|scope| {
        // The server has answered, but nginx gets the response later.
        let slow = scope.spawn(|| read(&cache, &title).1.text());
        held.recv().unwrap();
        let purges = metric(&server, "mesh_purges_total");
        set_title(&blog, "Rust at noon");
        wait_until("the purge", || metric(&server, "mesh_purges_total") > purges);
        release.send(()).unwrap();
        assert_eq!(slow.join().unwrap(), r#"{"title":"Rust at dawn"}"#);
    });
    for _ in 0..5 {
        assert_eq!(read(&cache, &title).1.text(), r#"{"title":"Rust at noon"}"#);
    }
}

/// Starts a proxy that holds the first response until it is released, and passes on the others.
fn start_gate(server: SocketAddr) -> (SocketAddr, Receiver<()>, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (hold, held) = channel();
    let (release, released) = channel();
    std::thread::spawn(move || {
        let mut first = Some((hold, released));
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let first = first.take();
            let (mut requests, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut requests, &mut to_server));
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                let mut first = first;
                while let Ok(length @ 1..) = server.read(&mut bytes) {
                    if let Some((hold, released)) = first.take() {
                        hold.send(()).unwrap();
                        released.recv().unwrap();
                    }
                    if client.write_all(&bytes[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, held, release)
}
