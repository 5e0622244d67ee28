//! `/healthz`, `/readyz` and `/metrics`, at the main address and at `admin.listen`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use mesh_tests::{Connection, Database, Request, Response, Server, command, wait_for, wait_until};
use serde_json::{Value, json};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;

fn get(server: &Server, path: &str) -> Response {
    server.send(&Request::new("GET", path))
}

/// Returns the value of a sample, which must exist.
fn value(text: &str, sample: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {sample} in\n{text}")).parse().expect("a number")
}

fn requests(route: &str, status: u16) -> String {
    format!("mesh_requests_total{{method=\"GET\",route=\"{route}\",status=\"{status}\"}}")
}

#[test]
fn working_server_is_ready() {
    let server = Server::with_database(&Database::blog());
    let alive = get(&server, "/healthz");
    assert_eq!((alive.status, alive.json()), (200, json!({"alive": true})));
    let ready = get(&server, "/readyz");
    let passed = json!({"status": "passed"});
    let expected = json!({"ready": true, "checks": {"database": passed, "schema": passed}});
    assert_eq!((ready.status, ready.json()), (200, expected));
    for reply in [alive, ready] {
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(reply.header("x-request-id").is_some());
    }
    let refused = server.send(&Request::new("POST", "/readyz"));
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(server.send(&Request::new("HEAD", "/healthz")).text(), "");
}

#[test]
fn server_without_its_database_is_alive_but_not_ready() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    assert_eq!(get(&server, "/readyz").status, 200);
    let file = database.url().strip_prefix("sqlite:").expect("a file").to_owned();
    let aside = format!("{file}.aside");
    std::fs::rename(&file, &aside).unwrap();
    let until = |status: u16| {
        wait_for(&format!("the status {status}"), || {
            Some(get(&server, "/readyz")).filter(|reply| reply.status == status).ok_or("another status")
        })
    };
    let reply = until(503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(reply.json()["checks"]["database"]["status"], "failed");
    assert!(!reply.text().contains(".db"), "where the file is, is for the log: {}", reply.text());
    assert_eq!(get(&server, "/healthz").status, 200);
    std::fs::rename(&aside, &file).unwrap();
    until(200);
}

#[test]
fn replies_of_writes_to_a_record_fill_no_cache() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, '')",
    );
    let schema = r#"{"entities": {"note": {"fields": ["id", "text"], "writable": ["text"]}}}"#;
    let schema = database.dir.write("schema.json", schema);
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let mut connection = Connection::connect(server.address);
    for number in 0..50 {
        let request = Request::new("PUT", "/mesh/note/1").header("Content-Type", "application/json");
        assert_eq!(connection.send(&request.body(format!(r#"{{"text":"{number}"}}"#))).status, 200);
    }
    let text = server.send(&Request::new("GET", "/metrics")).text();
    // The reply of a write may be read in the same transaction, and then nothing is cached.
    assert!(value(&text, "mesh_answers_cached") <= 1.0, "{text}");
    assert!(value(&text, "mesh_plans_cached{cache=\"text\"}") <= 1.0, "{text}");
}

#[test]
fn requests_are_counted() {
    let server = Server::with_database(&Database::blog());
    let mut connection = server.connect();
    for _ in 0..3 {
        assert_eq!(connection.send(&Request::get("/mesh/post/1", POST)).status, 200);
    }
    assert_eq!(
        connection.send(&Request::get("/mesh/post", POST)).json()["items"].as_array().unwrap().len(),
        4
    );
    assert_eq!(connection.send(&Request::get("/mesh/post", "{")).status, 400);
    assert_eq!(connection.send(&Request::get("/nowhere", POST)).status, 404);
    let long = "a".repeat(40_000);
    assert_eq!(connection.send(&Request::new("GET", &format!("/mesh/post/{long}"))).status, 414);
    let _other = server.connect();
    assert_eq!(get(&server, "/healthz").status, 200);
    let reply = get(&server, "/metrics");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = reply.text();
    for (sample, expected) in [
        (requests("/:entity/:id", 200), 3.0),
        (requests("/:entity", 200), 1.0),
        (requests("/:entity", 400), 1.0),
        (requests("admin", 200), 1.0),
        ("mesh_rows_total".to_owned(), 7.0),
        ("mesh_answer_hits_total".to_owned(), 2.0),
        ("mesh_reads_total".to_owned(), 4.0),
        ("mesh_limit_hits_total{limit=\"header_bytes\"}".to_owned(), 1.0),
        ("mesh_answers_cached".to_owned(), 2.0),
        ("mesh_event_streams".to_owned(), 0.0),
        ("mesh_unsent_bytes".to_owned(), 0.0),
        ("mesh_requests_waiting".to_owned(), 0.0),
        ("mesh_panics_total".to_owned(), 0.0),
        ("mesh_pool_waits_total".to_owned(), 0.0),
    ] {
        assert_eq!(value(&text, &sample), expected, "{sample}\n{text}");
    }
    assert!(value(&text, "mesh_connections_open") >= 2.0);
    assert!(value(&text, "mesh_sql_seconds_total") > 0.0);
    assert!(value(&text, "process_resident_memory_bytes") > 1e6);
    // Labels contain kinds of routes, and nothing that a client sent.
    assert!(!text.contains("nowhere") && !text.contains("aaaa") && !text.contains("post"));
}

/// Starts a server with an admin address, which is taken from its log.
fn with_admin(database: &Database) -> (Server, std::net::SocketAddr) {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log", "info", "--log-format", "json"]);
    command.args(["--database", &database.url()]).env("MESH_ADMIN__LISTEN", "127.0.0.1:0");
    let mut server = Server::spawn(command.stderr(Stdio::piped()));
    let log = server.log().expect("a log");
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        line["message"].as_str()?.strip_prefix("health and metrics at http://")?.parse().ok()
    });
    // The rest is read so that the server does not block on writing.
    std::thread::spawn(move || lines.for_each(drop));
    (server, address.expect("an address"))
}

#[test]
fn admin_address_replaces_the_main_address() {
    let database = Database::blog();
    let (server, admin) = with_admin(&database);
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(&server, path).status, 404, "{path} is not on the main address");
        assert_eq!(Connection::connect(admin).send(&Request::new("GET", path)).status, 200, "{path}");
    }
    assert_eq!(server.get("/post/1", POST).status, 200);
    let mut connection = Connection::connect(admin);
    let reply = connection.send(&Request::get("/mesh/post/1", POST));
    assert_eq!(reply.status, 404, "data is not on the admin address");
    let text = connection.send(&Request::new("GET", "/metrics")).text();
    assert_eq!(value(&text, &requests("/:entity/:id", 200)), 1.0);
}

#[test]
fn admin_address_reports_that_the_server_is_stopping() {
    let database = Database::blog();
    let (mut server, admin) = with_admin(&database);
    let body = json!({"query": POST, "id": 1}).to_string();
    let bytes = Request::post("/mesh", &body).header("Expect", "100-continue").bytes();
    let (head, body) = bytes.split_at(bytes.len() - body.len());
    let mut under_way = server.connect();
    under_way.write(head);
    assert_eq!(under_way.read(false).expect("an interim reply").status, 100);
    server.signal("TERM");
    wait_until("the server reports that it is stopping", || {
        let reply = Connection::connect(admin).send(&Request::new("GET", "/readyz"));
        reply.status == 503 && reply.json()["checks"]["server"]["message"] == "it is stopping"
    });
    under_way.write(body);
    assert_eq!(under_way.read(false).expect("the reply").text(), r#"{"id":1}"#);
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn entity_of_the_same_name_takes_precedence_at_the_root() {
    let database = Database::new("CREATE TABLE healthz (id INTEGER PRIMARY KEY, name TEXT);");
    let server = Server::start(&["--database", &database.url(), "--base", ""]);
    let read = server.get("/healthz", r#"{"healthz":{"$select":{"name":true}}}"#);
    assert_eq!((read.status, &read.json()["items"]), (200, &json!([])));
    assert_eq!(get(&server, "/readyz").status, 200);
}
