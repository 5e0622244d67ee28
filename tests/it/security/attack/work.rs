//! Exhaustion by single requests: patterns that take long to match, and answers of many bytes.

use mesh_tests::{Cluster, Database, Request, Response, Server, command, wait_until};
use serde_json::{Value, json};

/// A pattern that matches up to its last character wherever a text consists of one letter.
fn hostile_pattern() -> String {
    format!("%{}b%", "a_".repeat(450))
}

/// A filter with this many hostile conditions.
fn hostile_filter(conditions: usize) -> Value {
    let condition = json!({"field": "body", "op": "like", "value": hostile_pattern()});
    json!({"or": vec![condition; conditions]})
}

/// Starts a server with one thread for requests.
pub(super) fn on_one_thread(arguments: &[&str]) -> Server {
    with_deadline("2s", arguments)
}

/// Starts a server with one thread for requests, and a time limit for each.
pub(super) fn with_deadline(limit: &str, arguments: &[&str]) -> Server {
    let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--log", "off"];
    all.extend_from_slice(arguments);
    Server::spawn(command(&all).env("MESH_THREADS", "1").env("MESH_REQUEST_TIMEOUT", limit))
}

/// A post with a text of 8 MB, which its owner links too.
const LONG_TEXT: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, body TEXT, user_id INTEGER);
    INSERT INTO users VALUES (1, 'Ada');
    INSERT INTO posts VALUES (1, replace(hex(zeroblob(4000000)), '0', 'a'), 1);";

const USER: &str = r#"{"user":{"$select":{"name":true}}}"#;

/// Sends a request and meanwhile runs `meanwhile` until it is answered; returns the answer and the number of runs.
pub(super) fn beside(server: &Server, request: &Request, mut meanwhile: impl FnMut()) -> (Response, usize) {
    let mut runs = 0;
    let reply = std::thread::scope(|scope| {
        let hostile = scope.spawn(|| server.send(request));
        while !hostile.is_finished() {
            meanwhile();
            runs += 1;
        }
        hostile.join().unwrap()
    });
    (reply, runs)
}

/// Attack with a session of few rights: queries that take long: patterns, combinations of relations, sorts,
/// answers of many bytes.
#[test]
fn a_hostile_pattern_is_interrupted_and_does_not_delay_others() {
    let database = Database::new(LONG_TEXT);
    let server = on_one_thread(&["--database", &database.url()]);
    let mut connection = server.connect();
    for op in ["like", "ilike"] {
        let filter = hostile_filter(60).to_string().replace("like", op);
        let query = format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{filter}}}}}"#);
        let body = json!({"query": query}).to_string();
        let (reply, reads) = beside(&server, &Request::post("/mesh", &body), || {
            assert_eq!(connection.send(&Request::get("/mesh/user/1", USER)).status, 200);
        });
        assert_eq!((reply.status, &reply.json()["code"]), (500, &json!("TIMEOUT")), "{}", reply.text());
        assert!(reads > 0, "no read was answered beside {op}");
    }
}

/// The additional memory that a refused response may take: the bytes up to the limit, some of them twice.
const REFUSED_ANSWER_MIB: u64 = 200;

const PAGES: &str = r#"{"page":{"$select":{"id":true,"body":true},"$page":{"first":200}}}"#;
const CHILDREN: &str =
    r#"{"parent":{"$select":{"children":{"$select":{"parent":{"$select":{"body":true}}}}}}}"#;

const HUGE_SCHEMA: &str = r#"{"entities": {
        "page": {"table": "pages", "fields": ["id", "body"]},
        "parent": {"table": "parents", "fields": ["id", "body"]},
        "child": {"table": "children", "fields": ["id"]}},
    "joins": {
        "parent.children": {"entity": "child", "type": "many", "on": "children.parent_id = parents.id"},
        "child.parent": {"entity": "parent", "type": "one", "on": "children.parent_id = parents.id"}}}"#;

/// Reads 200 texts of 2 MB, and one text of 1 MB through 2,500 children.
fn check_huge_answers(database: &str) {
    let folder = mesh_tests::TempDir::new();
    let schema = folder.write("schema.json", HUGE_SCHEMA);
    let server = Server::start(&["--database", database, "--schema", &schema]);
    let small = r#"{"child":{"$select":{"id":true}}}"#;
    assert_eq!(server.get("/child", small).status, 200);
    let before = server.peak_memory() >> 20;
    for (path, query) in [("/page", PAGES), ("/parent", CHILDREN), ("/parent/1", CHILDREN)] {
        let reply = server.get(path, query);
        assert_eq!(reply.status, 400, "{path}: {} bytes", reply.body.len());
        assert_eq!(reply.json()["code"], "RESULT_TOO_LARGE");
        assert!(
            reply.text().contains("$page") && reply.text().contains("response_bytes"),
            "{}",
            reply.text()
        );
    }
    let grown = (server.peak_memory() >> 20) - before;
    assert!(grown < REFUSED_ANSWER_MIB, "{grown} MiB for refused answers");
    assert_eq!(server.get("/child", small).status, 200);
}

#[test]
fn answers_of_many_bytes_are_refused_before_they_are_built() {
    let database = Database::new(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY, body TEXT);
         CREATE TABLE children (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES parents (id));
         CREATE INDEX children_parent ON children (parent_id);
         INSERT INTO parents VALUES (1, replace(hex(zeroblob(500000)), '0', 'a'));
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2500)
            INSERT INTO children SELECT i, 1 FROM c;
         CREATE VIEW pages AS SELECT id, replace(hex(zeroblob(1000000)), '0', 'a') AS body FROM children;",
    );
    check_huge_answers(&database.url());
}

#[test]
fn answers_of_many_bytes_are_not_read_to_the_end_from_postgres() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE parents (id integer PRIMARY KEY, body text);
         CREATE TABLE children (id integer PRIMARY KEY, parent_id integer REFERENCES parents (id));
         CREATE INDEX children_parent ON children (parent_id);
         INSERT INTO parents VALUES (1, repeat('a', 1000000));
         INSERT INTO children SELECT i, 1 FROM generate_series(1, 2500) i;
         CREATE VIEW pages AS SELECT id, repeat('a', 2000000) AS body FROM children;",
    );
    check_huge_answers(&cluster.url());
    // Statements whose rows are not read any more are cancelled.
    let active = "SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() \
                  AND backend_type = 'client backend'";
    wait_until("no statement runs", || cluster.query(active).as_deref() == Some("0"));
}
