//! nginx as a cache in front of a server, with the configuration of `docs/scale.md`.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mesh_tests::guide::root;
use mesh_tests::{Connection, Database, Request, Response, Server, TempDir, wait_for, wait_until};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Seconds that the page's settings let caches keep a post, and what nginx adds, which counts whole seconds.
const KEPT: Duration = Duration::from_secs(2);

/// nginx with the page's configuration; ended when dropped.
struct Cache {
    nginx: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Cache {
    fn start(server: &Server) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).unwrap();
        let config = block("cache.nginx")
            .replace("127.0.0.1:4000", &server.address.to_string())
            .replace("127.0.0.1:8080", &address.to_string());
        let folder = TempDir::new();
        let temporary =
            ["client_body", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {name};\n"));
        let main = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log nginx.log;\nevents {{}}\nhttp {{\naccess_log off;\n\
             proxy_temp_path proxy;\n{}{config}}}\n",
            temporary.concat()
        );
        let main = folder.write("nginx.conf", &main);
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).args(["-e", "nginx.log", "-c", &main]).stdin(Stdio::null());
        let mut nginx = command.spawn().expect("nginx runs");
        wait_for("nginx to listen", || {
            let ended = nginx.try_wait().ok().flatten();
            assert!(
                ended.is_none(),
                "{}",
                fs::read_to_string(folder.path().join("nginx.log")).unwrap_or_default()
            );
            TcpStream::connect(address)
        });
        Self { nginx, address, _folder: folder }
    }

    /// Sends a read; returns whether nginx had the answer, and the answer.
    fn read(&self, request: &Request) -> (String, Response) {
        let reply = Connection::connect(self.address).send(request);
        assert_eq!(reply.status, 200, "{}", reply.text());
        (reply.header("x-cache-status").unwrap_or_default().to_owned(), reply)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = self.nginx.kill().and_then(|()| self.nginx.wait());
    }
}

/// Returns a file of the page.
fn block(name: &str) -> String {
    let page = fs::read_to_string(root().join("docs/scale.md")).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- file: {name} -->\n")).expect("the file is on the page");
    let (_, rest) = rest.split_once('\n').expect("the fence");
    rest.split_once("\n```").expect("the end of the file").0.to_owned() + "\n"
}

/// Returns the reads that the server has answered.
fn reads(server: &Server) -> u64 {
    let text = server.send(&Request::new("GET", "/metrics")).text();
    let line = text.lines().find_map(|line| line.strip_prefix("mesh_reads_total "));
    line.and_then(|value| value.parse::<f64>().ok()).expect("the metric") as u64
}

#[test]
fn repeated_reads_are_answered_by_the_cache() {
    if !super::are_installed(&["nginx"]) {
        return;
    }
    let blog = Database::blog();
    let settings = block("mesh.toml").replace("sqlite:blog.db", &blog.url());
    let server = Server::start(&["--config", &blog.dir.write("mesh.toml", &settings)]);
    let registered =
        server.send(&Request::post("/mesh/queries", &serde_json::json!({"query": TITLE}).to_string()));
    let id = registered.json()["id"].as_str().expect("an id").to_owned();
    let by_id = |path: &str| Request::new("GET", path).header("X-Mesh-Query-Id", &id);
    let cache = Cache::start(&server);

    // The second read within `max-age` does not reach the server.
    let begin = reads(&server);
    let (status, first) = cache.read(&by_id("/mesh/post/1"));
    assert_eq!((status.as_str(), reads(&server)), ("MISS", begin + 1));
    let again = wait_for("a hit", || {
        let (status, again) = cache.read(&by_id("/mesh/post/1"));
        if status == "HIT" { Ok(again) } else { Err(status) }
    });
    assert_eq!(again.text(), first.text());
    let hits = reads(&server);
    let mut found = 0;
    while found < 20 && cache.read(&by_id("/mesh/post/1")).0 == "HIT" {
        found += 1;
    }
    assert!(found > 0 && reads(&server) <= hits + 1, "{found} hits, {} reads", reads(&server) - hits);

    // Other queries, formats and paths are other answers.
    let plain = r#"{"post":{"$select":{"id":true}}}"#;
    assert_eq!(cache.read(&Request::get("/mesh/post/1", plain)).1.text(), r#"{"id":1}"#);
    assert_eq!(cache.read(&Request::get("/mesh/post/1", TITLE)).1.text(), first.text());
    assert_eq!(cache.read(&by_id("/mesh/post/2")).1.text(), r#"{"title":"Slow bread"}"#);

    // After `max-age` an unchanged answer is revalidated by its tag, without its body.
    wait_until("the answer is revalidated", || cache.read(&by_id("/mesh/post/1")).0 == "REVALIDATED");

    // A changed one is never sent past its time.
    let (status, _) = wait_for("an answer from the server", || {
        let (status, reply) = cache.read(&by_id("/mesh/post/1"));
        if status == "HIT" { Err(status) } else { Ok((status, reply)) }
    });
    let fetched = Instant::now();
    assert_eq!(status, "REVALIDATED");
    blog.connect().execute("UPDATE posts SET title = 'Rust at noon' WHERE id = 1", []).unwrap();
    wait_until("the new title", || {
        let asked = fetched.elapsed();
        let (status, reply) = cache.read(&by_id("/mesh/post/1"));
        let is_new = reply.text() == r#"{"title":"Rust at noon"}"#;
        assert!(is_new || status == "HIT" && asked <= KEPT, "{status} after {asked:?}: {}", reply.text());
        is_new
    });

    // What is not cacheable passes through.
    let (status, reply) = cache.read(&Request::get("/mesh/user/1", r#"{"user":{"$select":{"name":true}}}"#));
    assert_eq!((status.as_str(), reply.header("cache-control")), ("MISS", Some("no-store")));
    let before = reads(&server);
    cache.read(&Request::get("/mesh/user/1", r#"{"user":{"$select":{"name":true}}}"#));
    assert_eq!(reads(&server), before + 1);
}
