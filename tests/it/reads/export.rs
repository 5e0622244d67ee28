//! Exports of collections over HTTP. `SPEC §16`

use std::net::Ipv4Addr;

use mesh_tests::{Cluster, Connection, Database, Request, Response, Server, connect_from, wait_until};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const AUTHORS: &str = r#"{"post":{"$select":{"id":true,"title":true,"author":{"$select":{"name":true}}},"$orderBy":[{"field":"id","direction":"desc"}]}}"#;

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
