//! Logs, `Server-Timing` and traces of requests, and the secrets that they must not contain.

use std::fs::File;

use mesh_tests::{Database, Request, Response, Server, command, encode};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, PASSWORD, Session, login};

const POST: &str = r#"{"post":{"$select":{"title":true}}}"#;
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Starts a server that logs to a file.
fn logging(deployment: &Deployment, filter: &str) -> (Server, std::path::PathBuf) {
    let path = deployment.database.dir.path().join("log");
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--log", filter]);
    command.args(["--config", &deployment.config]);
    (Server::spawn(command.stderr(File::create(&path).expect("a log"))), path)
}

/// Stops a server and returns its log.
fn stop_and_read_log(mut server: Server, path: &std::path::Path) -> String {
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    std::fs::read_to_string(path).expect("the log")
}

/// Sends requests of all kinds, valid and not. Returns the secrets that the log must not contain at any level.
fn traffic(server: &Server) -> Vec<String> {
    let session = Session::begin(server);
    assert_eq!(login(server, "ada@example.org", "a wrong password").status, 401);
    assert_eq!(session.get(server, "/post/1", POST).status, 200);
    let filter = json!({"post": {"$select": {"id": true},
        "$where": {"field": "title", "op": "eq", "value": "a value of a query"}}});
    assert_eq!(session.get(server, "/post", &filter.to_string()).status, 200);
    assert_eq!(session.post(server, "", &json!({"query": POST, "id": 2})).status, 200);
    assert_eq!(session.post(server, "/queries", &json!({"query": POST})).status, 200);
    let unknown = r#"{"post":{"$select":{"a_field_that_is_not":true}}}"#;
    assert_eq!(session.get(server, "/post", unknown).status, 400);
    let forged = session.sign(Request::get("/mesh/post/1", POST), "something else");
    assert_eq!(server.send(&forged).status, 403);
    let in_url = Request::get("/mesh/post/1?password=in-the-url", POST);
    assert_eq!(server.send(&session.sign(in_url, &encode(POST))).status, 200);
    assert_eq!(session.logout(server).status, 200);
    let signature = session.signature(&encode(POST));
    let mut secrets = vec![
        PASSWORD.to_owned(),
        "a wrong password".to_owned(),
        "the secret of these tests".to_owned(),
        session.token.clone(),
        session.signing_token.clone(),
        signature,
        "$argon2id$".to_owned(),
        "in-the-url".to_owned(),
    ];
    // A part of a token is a secret too.
    secrets.push(session.token[..60].to_owned());
    secrets
}

#[test]
fn the_log_contains_no_queries_above_debug() {
    let deployment = Deployment::new("");
    let (server, path) = logging(&deployment, "info,mesh_server::access=debug");
    let secrets = traffic(&server);
    let log = stop_and_read_log(server, &path);
    let queries = ["$select", "$where", "a value of a query", "a_field_that_is_not", &encode(POST), "title"];
    for text in secrets.iter().map(String::as_str).chain(queries) {
        assert!(!log.contains(text), "{text} is in\n{log}");
    }
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let requests: Vec<&Value> = lines.iter().filter(|line| line["target"] == "mesh_server::access").collect();
    assert_eq!(requests.len(), 10, "one line for each request\n{log}");
    assert!(requests.iter().all(|line| line["request"].as_str().is_some_and(|id| id.len() == 32)));
    assert_eq!(requests[0]["path"], "/mesh/auth");
    let read = requests[2];
    assert_eq!(
        (&read["method"], &read["path"], &read["status"]),
        (&json!("GET"), &json!("/mesh/post/1"), &json!(200))
    );
    assert_eq!(
        (&read["user"], &read["rows"], &read["client"]),
        (&json!("1"), &json!(1), &json!("127.0.0.1"))
    );
    assert!(read["ms"].as_f64().is_some_and(|ms| (0.0..10_000.0).contains(&ms)));
}

#[test]
fn by_default_only_failed_requests_are_logged() {
    let deployment = Deployment::new("");
    let (server, path) = logging(&deployment, "info");
    let session = Session::begin(&server);
    assert_eq!(session.get(&server, "/post/1", POST).status, 200);
    let file = deployment.database.url();
    let writer = rusqlite::Connection::open(file.strip_prefix("sqlite:").unwrap()).unwrap();
    writer.execute_batch("DROP TABLE posts").unwrap();
    let failed = session.get(&server, "/post/1", POST);
    assert_eq!(failed.status, 500, "{}", failed.text());
    let id = failed.header("x-request-id").unwrap().to_owned();
    let log = stop_and_read_log(server, &path);
    let of_requests = log.lines().filter(|line| line.contains("mesh_server::access"));
    let of_requests: Vec<_> = of_requests.collect();
    assert_eq!(of_requests.len(), 1, "{log}");
    assert!(of_requests[0].contains(&id) && of_requests[0].contains("\"WARN\""), "{log}");
    assert!(
        log.lines().any(|line| line.contains(&id) && line.contains("no such table")),
        "the cause is logged\n{log}"
    );
}

fn traced(server: &Server, traceparent: &[&str]) -> Response {
    let request = Request::get("/mesh/post/1", POST);
    server.send(&traceparent.iter().fold(request, |request, value| request.header("traceparent", value)))
}

#[test]
fn a_trace_continues_through_the_server() {
    let database = Database::blog();
    let path = database.dir.path().join("log");
    let mut command = command(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--log",
        "mesh_server::access=debug",
    ]);
    command.args(["--database", &database.url()]).stderr(File::create(&path).unwrap());
    let server = Server::spawn(&mut command);
    let sent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let first = traced(&server, &[&sent]).header("traceparent").unwrap().to_owned();
    let second = traced(&server, &[&sent]).header("traceparent").unwrap().to_owned();
    for value in [&first, &second] {
        assert_eq!(value.len(), sent.len());
        assert!(value.starts_with(&format!("00-{TRACE}-")) && value.ends_with("-01"), "{value}");
    }
    assert!(first != second && first != sent, "each request has its own span");
    // Error replies belong to the trace too. An invalid header starts no trace.
    let refused = server.send(&Request::new("GET", "/nowhere").header("traceparent", &sent));
    assert!(refused.header("traceparent").is_some());
    for wrong in [&["junk"][..], &["00-0-0-0"], &[&sent, &sent], &[]] {
        let reply = traced(&server, wrong);
        assert_eq!((reply.status, reply.header("traceparent")), (200, None), "{wrong:?}");
    }
    let log = stop_and_read_log(server, &path);
    assert_eq!(
        log.lines().filter(|line| line.contains(&format!("\"trace\":\"{TRACE}\""))).count(),
        3,
        "{log}"
    );
}

#[test]
fn only_reads_have_a_server_timing_header() {
    let deployment = Deployment::new("");
    let server = deployment.start();
    let session = Session::begin(&server);
    let read = session.get(&server, "/post/1", POST);
    let timing = read.header("server-timing").expect("times").to_owned();
    let parts: Vec<(&str, f64)> = timing
        .split(", ")
        .map(|part| part.split_once(";dur=").expect("a time"))
        .map(|(name, time)| (name, time.parse().expect("a number")))
        .collect();
    let [("plan", plan), ("sql", sql), ("total", total)] = parts[..] else { panic!("{timing}") };
    assert!(plan + sql <= total + 0.02 && total < 10_000.0, "{timing}");
    // The duration of a login or a refusal could reveal what its reply does not.
    assert_eq!(login(&server, "ada@example.org", "wrong").header("server-timing"), None);
    assert_eq!(login(&server, "ada@example.org", PASSWORD).header("server-timing"), None);
    assert_eq!(session.get(&server, "/post", "{").header("server-timing"), None);
}

/// Text from a database or a client can neither forge a line nor hide a part of a line.
#[test]
fn the_pretty_log_escapes_control_and_format_characters() {
    let table = "no\nWARN forged\r\u{1b}[2J\u{202e}\u{2028}\u{200b}table";
    let database = Database::new(&format!("CREATE TABLE \"{table}\" (id INTEGER PRIMARY KEY, title TEXT)"));
    let schema = json!({"entities": {"post": {"table": format!("\"{table}\""), "fields": ["id", "title"]}}, "joins": {}});
    let schema = database.dir.write("schema.json", &schema.to_string());
    let path = database.dir.path().join("log");
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log", "debug", "--schema", &schema]);
    command.args(["--database", &database.url()]);
    let server = Server::spawn(command.stderr(File::create(&path).expect("a log")));
    let connection = rusqlite::Connection::open(database.dir.path().join("data.db")).unwrap();
    connection.execute_batch(&format!("DROP TABLE \"{table}\"")).unwrap();
    assert_eq!(server.send(&Request::get("/mesh/post/1", POST)).status, 500);
    let unknown = json!({"post": {"$select": {"from\nWARN forged\u{202e}client": true}}});
    assert_eq!(server.send(&Request::get("/mesh/post/1", &unknown.to_string())).status, 400);
    let log = stop_and_read_log(server, &path);
    let raw =
        |letter: char| (letter.is_control() && letter != '\n') || "\u{202e}\u{2028}\u{200b}".contains(letter);
    assert!(!log.contains(raw), "{log:?}");
    assert!(!log.lines().any(|line| line.starts_with("WARN forged")), "{log}");
    assert!(log.contains(r"no\nWARN forged\r") && log.contains(r"[2J\u{202e}\u{2028}\u{200b}table"), "{log}");
    assert!(log.contains(r"from\nWARN forged\u{202e}client"), "{log}");
}
