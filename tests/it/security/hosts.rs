//! DNS rebinding: a page of a foreign site whose name resolves to the server's address is recognized by its `Host`.

use mesh_tests::{Connection, Database, Request, Response, Server, encode, run};
use serde_json::json;

use crate::support::refusals::{report, shape_faults};
use crate::support::sessions::Deployment;

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Sends a request with these `Host` lines.
fn send(server: &Server, request: &Request, hosts: &[&str]) -> Response {
    let lines: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    let bytes = String::from_utf8(request.bytes_for("HOST")).unwrap().replacen("Host: HOST\r\n", &lines, 1);
    let mut connection = Connection::connect(server.address);
    connection.write(bytes.as_bytes());
    // Streams do not end.
    let head = connection.read_head().unwrap().unwrap();
    if head.is_event_stream() { head } else { connection.read_body(head, request.method == "HEAD").unwrap() }
}

fn read() -> Request {
    Request::get("/mesh/post/1", TITLE)
}

/// Requests to every kind of route.
fn routes() -> Vec<Request> {
    let execute = json!({"query": TITLE}).to_string();
    vec![
        read(),
        Request::get("/mesh/post", TITLE),
        Request::get("/mesh/post/1/events", TITLE),
        Request::new("HEAD", "/mesh/post/1").query(TITLE),
        Request::new("OPTIONS", "/mesh/post/1"),
        Request::post("/mesh", &execute),
        Request::post("/mesh/queries", &execute),
        Request::post("/mesh/auth", "{}"),
        Request::post("/mesh/post", "{}"),
        Request::new("DELETE", "/mesh/post/1"),
        Request::new("GET", "/mesh/files/x"),
        Request::new("GET", "/docs"),
        Request::new("GET", "/docs/schema"),
        Request::post("/docs/execute", &execute),
        Request::new("GET", "/nowhere"),
        Request::new("GET", "/metrics"),
    ]
}

fn serve(blog: &Database, settings: &str) -> Server {
    let config = format!("database = \"{}\"\n{settings}", blog.url());
    let config = blog.dir.write("mesh.toml", &config);
    Server::start(&["--config", &config, "--docs", "--mutations"])
}

/// Attack without a session: a page of a foreign site whose name resolves to the server (DNS rebinding).
#[test]
fn a_foreign_host_is_misdirected_on_every_route() {
    let blog = Database::blog();
    let server = serve(&blog, "");
    let mut faults = Vec::new();
    for request in routes() {
        let origin = request.clone().header("Origin", "http://evil.example:4000");
        for (host, request) in [("evil.example:4000", &origin), ("localhost.evil.example", &request)] {
            let reply = send(&server, request, &[host]);
            let is_right = reply.status == 421
                && (request.method == "HEAD"
                    || shape_faults(&reply).is_empty() && reply.json()["error"] == "TransportError");
            if !is_right {
                faults.push(format!(
                    "{} {} for {host}: {} {}",
                    request.method,
                    request.target,
                    reply.status,
                    reply.text()
                ));
            }
        }
        let reply = send(&server, &request, &["localhost:4000"]);
        if reply.status == 421 {
            faults.push(format!("{} {} for localhost: 421", request.method, request.target));
        }
    }
    report(&faults);
    // Probes do not use the name of the server, and their replies reveal only that it is running.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(send(&server, &Request::new("GET", path), &["10.1.2.3:4000"]).status, 200, "{path}");
    }
}

#[test]
fn names_are_compared_without_case_and_port() {
    let blog = Database::blog();
    let loopback = serve(&blog, "");
    let named = serve(&blog, "allowed_hosts = [\"api.example.org\", \"10.1.2.3\", \"[2001:db8::1]\"]\n");
    let mut faults = Vec::new();
    for (server, accepted, refused) in [
        (
            &loopback,
            &[
                "localhost",
                "LocalHost:1",
                "blog.localhost",
                "localhost.",
                "127.0.0.1",
                "127.9.8.7:80",
                "[::1]",
                "[::1]:4000",
                "[0:0:0:0:0:0:0:1]",
            ][..],
            &[
                "",
                ":80",
                "localhosts",
                "notlocalhost",
                "128.0.0.1",
                "127.0.0.1.evil.example",
                "127.1",
                "[::2]",
                "::1",
                "0.0.0.0",
                "localhost:x",
                "a@localhost",
                "localhost/",
                "[::1",
                "lo calhost",
            ][..],
        ),
        (
            &named,
            &[
                "api.example.org",
                "API.example.ORG:443",
                "api.example.org.",
                "10.1.2.3:4000",
                "[2001:db8::1]:80",
                "[2001:DB8:0::1]",
            ][..],
            &["localhost", "127.0.0.1", "example.org", "x.api.example.org", "10.1.2.4", "[2001:db8::2]", ""]
                [..],
        ),
    ] {
        for (hosts, expected) in [(accepted, 200), (refused, 421)] {
            for host in hosts {
                let status = send(server, &read(), &[host]).status;
                if status != expected {
                    faults.push(format!("{host:?}: {status} in place of {expected}"));
                }
            }
        }
    }
    report(&faults);
}

/// With sessions a foreign page has no token, so that names need not be listed.
#[test]
fn with_sessions_any_host_is_accepted() {
    let server = Deployment::new("").start();
    let reply = send(&server, &read(), &["blog.example.org"]);
    assert_eq!((reply.status, &reply.json()["code"]), (401, &json!("TOKEN_MISSING")));
    let listed = Deployment::new("allowed_hosts = [\"blog.example.org\"]\n").start();
    assert_eq!(send(&listed, &read(), &["blog.example.org"]).status, 401);
    assert_eq!(send(&listed, &read(), &["localhost"]).status, 421);
}

#[test]
fn invalid_names_prevent_the_start() {
    let blog = Database::blog();
    for (name, words) in [
        ("example.org:4000", "without a port"),
        ("http://example.org", "a name or an address"),
        ("*.example.org", "a name or an address"),
        ("", "a name or an address"),
    ] {
        let config = format!("database = \"{}\"\nallowed_hosts = [\"{name}\"]\n", blog.url());
        let config = blog.dir.write("wrong.toml", &config);
        let output = run(&["serve", "--config", &config, "--listen", "127.0.0.1:0"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("allowed_hosts") && said.contains(words), "{said}");
    }
}

/// The name is also checked in HTTP/2, where it is a separate field.
#[test]
fn http2_names_are_checked() {
    let blog = Database::blog();
    let server = serve(&blog, "");
    if !has_http2() {
        return;
    }
    let port = server.address.port();
    let ask = |name: &str, more: &[&str]| {
        let query = format!("X-Mesh-Query: {}", encode(TITLE));
        let mut curl = std::process::Command::new("curl");
        curl.args([
            "-sS",
            "--http2-prior-knowledge",
            "-o",
            "-",
            "-w",
            "\n%{http_version} %{http_code}",
            "-H",
            &query,
        ]);
        curl.args(["--resolve", &format!("{name}:{port}:127.0.0.1")]).args(more);
        let output = curl.arg(format!("http://{name}:{port}/mesh/post/1")).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(ask("localhost", &[]), "2 200");
    assert_eq!(ask("evil.example", &[]), "2 421");
}

/// Returns whether curl is installed with HTTP/2.
fn has_http2() -> bool {
    let output = std::process::Command::new("curl").arg("--version").output();
    let has = output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("HTTP2"));
    if !has {
        mesh_tests::skip("curl with HTTP/2", "install curl");
    }
    has
}
