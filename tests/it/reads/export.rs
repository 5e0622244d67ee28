//! Exports of collections over HTTP. `SPEC §16`

use std::net::Ipv4Addr;

use mesh_tests::{
    Cluster, Connection, Database, Request, Response, Server, connect_from, encode, wait_until,
};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, Session, why};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const AUTHORS: &str = r#"{"post":{"$select":{"id":true,"title":true,"author":{"$select":{"name":true}}},"$orderBy":[{"field":"id","direction":"desc"}]}}"#;
const TAGS: &str = r#"{"post":{"$select":{"id":true,"tags":{"$select":{"label":true}}}}}"#;

fn serve(database: &Database, settings: &str) -> Server {
    let config = database.dir.write("mesh.toml", &format!("[export]\nenabled = true\n{settings}"));
    Server::start(&["--database", &database.url(), "--config", &config])
}

fn export_request(path: &str, query: &str, accept: &str) -> Request {
    Request::get(path, query).header("Accept", accept)
}

fn export(server: &Server, query: &str, accept: &str) -> Response {
    server.send(&export_request("/mesh/post", query, accept))
}

/// A blog with some ten megabytes of posts.
fn large() -> Database {
    let database = Database::blog_with_posts(100_000);
    database.connect().execute_batch("UPDATE posts SET title = printf('%0100d', id)").unwrap();
    database
}

#[test]
fn all_records_come_as_lines() {
    let database = Database::blog_with_posts(500);
    let server = serve(&database, "");
    let reply = export(&server, AUTHORS, NDJSON);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(NDJSON)));
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename*=UTF-8''post.ndjson"));
    assert_eq!((reply.header("cache-control"), reply.header("etag")), (Some("no-store"), None));
    assert!(reply.header("x-request-id").is_some());
    let lines: Vec<Value> = reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 504);
    assert_eq!(lines[0], json!({"id": 600, "title": "Post 500", "author": {"name": "Ada"}}));
    assert!(reply.text().ends_with("{\"id\":1,\"title\":\"Rust at dawn\",\"author\":{\"name\":\"Ada\"}}\n"));

    let reply = export(&server, AUTHORS, CSV);
    assert_eq!(reply.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let text = reply.text();
    assert!(text.starts_with("\"id\",\"title\",\"author.name\"\r\n600,\"Post 500\",\"Ada\"\r\n"), "{text}");
    assert_eq!(text.matches("\r\n").count(), 505);

    let lists = export(&server, TAGS, NDJSON);
    assert!(lists.text().starts_with(r#"{"id":1,"tags":[{"label":"#), "{}", lists.text());
    let none = AUTHORS.replace("\"$orderBy\"", r#""$where":{"field":"id","op":"lt","value":0},"$orderBy""#);
    let empty = export(&server, &none, NDJSON);
    assert_eq!((empty.status, empty.text().as_str()), (200, ""));
}

#[test]
fn other_types_and_other_routes_get_json() {
    let database = Database::blog();
    let server = serve(&database, "");
    for accept in ["*/*", "application/json", "text/html, */*;q=0.8", "text/csv;q=0.5, application/json"] {
        let reply = export(&server, AUTHORS, accept);
        assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(4), "{accept}");
        assert!(reply.header("vary").unwrap().contains(" Accept,"));
    }
    let record = server.send(&export_request("/mesh/post/1", r#"{"post":{"$select":{"id":true}}}"#, CSV));
    assert_eq!(record.text(), r#"{"id":1}"#);
    let off = Server::with_database(&database);
    assert!(export(&off, AUTHORS, CSV).json()["items"].is_array(), "exports are off by default");
    let head =
        server.send(&Request { method: "HEAD".to_owned(), ..export_request("/mesh/post", AUTHORS, CSV) });
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.header("content-type").unwrap().starts_with(CSV));
}

#[test]
fn faults_are_refused_before_the_first_line() {
    let database = Database::blog();
    let server = serve(&database, "rows = 3\n");
    let refused = |query: &str, accept: &str| {
        let reply = export(&server, query, accept);
        let body = reply.json();
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"), "{body}");
        (reply.status, body["message"].as_str().unwrap().to_owned())
    };
    let page = r#"{"post":{"$select":{"id":true},"$page":{"first":1}}}"#;
    assert_eq!(
        refused(page, NDJSON),
        (
            400,
            "`$page` is not allowed in an export, which has all records; narrow it with `$where`".to_owned()
        )
    );
    let list = "'tags' is a list, which CSV cannot represent; leave it out, or export NDJSON";
    assert_eq!(refused(TAGS, CSV), (400, list.to_owned()));
    let unknown = r#"{"post":{"$select":{"nothing":true}}}"#;
    assert!(refused(unknown, CSV).1.starts_with("Field 'nothing' not found"));
    let (status, message) = refused(AUTHORS, NDJSON);
    assert!(status == 400 && message.contains("more than 3"), "{status} {message}");
}

#[test]
fn an_export_that_fails_later_ends_without_the_last_chunk() {
    let database = large();
    let server = serve(&database, "rows = 50000\n");
    let mut connection = server.connect();
    connection.write(&export_request("/mesh/post", AUTHORS, NDJSON).bytes());
    let head = connection.read_head().unwrap().unwrap();
    assert_eq!(head.status, 200);
    let cut = connection.read_body(head, false);
    assert!(cut.is_err(), "the client can tell");
}

/// Sends a request and reads only the head of its reply.
fn begin(server: &Server, request: &Request) -> (Connection, Response) {
    let mut connection = server.connect();
    connection.write(&request.bytes());
    let head = connection.read_head().unwrap().unwrap();
    (connection, head)
}

#[test]
fn an_export_that_nobody_reads_takes_little_memory_and_ends_at_its_deadline() {
    let database = large();
    let server = serve(&database, "timeout = \"2s\"\n");
    export(&server, r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"lt","value":9}}}"#, CSV);
    let before = server.memory();
    let (mut silent, head) = begin(&server, &export_request("/mesh/post", AUTHORS, NDJSON));
    assert_eq!(head.status, 200);
    assert!(server.memory().saturating_sub(before) < 4 << 20);
    // Writes go on, and the log of the database is emptied when the snapshot has ended.
    let connection = database.connect();
    connection.execute_batch("UPDATE posts SET likes = 1 WHERE id = 1").unwrap();
    wait_until("the snapshot has ended", || {
        let busy = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.query_row(busy, [], |row| row.get::<_, i64>(0)).unwrap() == 0
    });
    assert!(silent.read_body(head, false).is_err(), "the rest is missing");
}

#[test]
fn exports_are_bounded_for_an_address_and_for_all() {
    let database = large();
    // One export for each thirty requests, a quarter of them of one address.
    let server = serve(&database, "[limits]\nrequests = 240\n");
    let request = export_request("/mesh/post", AUTHORS, NDJSON);
    let open = [begin(&server, &request), begin(&server, &request)];
    assert_eq!(open.each_ref().map(|(_, head)| head.status), [200, 200]);
    let third = server.send(&request);
    assert_eq!((third.status, third.json()["error"].as_str()), (429, Some("RateLimitError")));
    assert!(third.header("retry-after").is_some());
    drop(open);
    wait_until("there is room again", || server.send(&request).status == 200);
    let server = serve(&database, "[limits]\nrequests = 30\n");
    let _open = begin(&server, &request);
    let other = connect_from(Ipv4Addr::new(127, 0, 0, 2), server.address).unwrap();
    assert_eq!(Connection::from_stream(other).send(&request).status, 503);
}

#[test]
fn signatures_and_registered_queries_hold_for_exports() {
    let deployment =
        Deployment::new("[export]\nenabled = true\n[persisted]\nonly = true\nregistration = \"signed\"\n");
    let server = deployment.start();
    let query = r#"{"post":{"$select":{"title":true}}}"#;
    assert_eq!(
        why(&server.send(&export_request("/mesh/post", query, CSV))),
        (401, "TOKEN_MISSING".to_owned())
    );
    let session = Session::begin(&server);
    let inline = session.sign(export_request("/mesh/post", query, CSV), &encode(query));
    assert_eq!(server.send(&inline).status, 403);
    let registered = session.post(&server, "/queries", &json!({ "query": query }));
    let id = registered.json()["id"].as_str().expect("an id").to_owned();
    let by_id = Request::new("GET", "/mesh/post").header("X-Mesh-Query-Id", &id).header("Accept", CSV);
    let reply = server.send(&session.sign(by_id.clone(), &id));
    assert_eq!(reply.text(), "\"title\"\r\n\"Rust at dawn\"\r\n\"Slow bread\"\r\n\"A map\"\r\n");
    assert_eq!(why(&server.send(&session.sign(by_id, "other"))), (403, "SIGNATURE_INVALID".to_owned()));
}

#[test]
fn postgresql_exports_the_same_lines() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE posts (id integer PRIMARY KEY, title text, price numeric(9, 2), at timestamptz, live boolean);
         INSERT INTO posts SELECT i, CASE WHEN i % 2 = 0 THEN 'a \"b\"' END, i, '2024-05-01T10:00:00Z', i % 3 = 0
         FROM generate_series(1, 2000) i;",
    );
    let folder = mesh_tests::TempDir::new();
    let config = folder.write("mesh.toml", "[export]\nenabled = true\n");
    let server = Server::start(&["--database", &cluster.url(), "--config", &config]);
    let query = r#"{"post":{"$select":{"id":true,"title":true,"price":true,"at":true,"live":true}}}"#;
    let text = export(&server, query, CSV).text();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(lines.len(), 2_002);
    assert_eq!(
        lines[..3],
        [
            r#""id","title","price","at","live""#,
            r#"1,,"1","2024-05-01T10:00:00Z",false"#,
            r#"2,"a ""b""","2","2024-05-01T10:00:00Z",false"#
        ]
    );
    let items = export(&server, query, NDJSON).text();
    assert_eq!(
        items.lines().last(),
        Some(r#"{"id":2000,"title":"a \"b\"","price":"2000","at":"2024-05-01T10:00:00Z","live":false}"#)
    );
}
