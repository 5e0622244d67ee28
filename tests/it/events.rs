//! Event streams over HTTP.

pub(crate) mod lists;
mod load;
pub(crate) mod stream;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mesh_tests::kit::encoding;
use mesh_tests::{Cluster, Database, Request, Server, command, encode, wait_until};
use serde_json::{Value, json};

use lists::{assert_items, open_list};
use stream::Stream;

const SECOND: Duration = Duration::from_secs(1);
const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

fn request(path: &str, query: &str) -> Request {
    Request::get(&format!("/mesh{path}"), query)
}

pub(crate) fn open(server: &Server, path: &str, query: &str) -> Stream {
    Stream::try_open(server.address, &request(path, query)).unwrap_or_else(|reply| panic!("{reply:?}"))
}

fn write(database: &Database, sql: &str) {
    database.connect().execute_batch(sql).unwrap();
}

#[test]
fn a_stream_sends_the_record_and_then_its_changes() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let mut stream = open(&server, "/post/1/events", TITLE);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.header("cache-control"), Some("no-cache, no-transform"));
    assert!(stream.header("x-request-id").is_some());
    let first = stream.event();
    assert_eq!((first.kind.as_str(), first.data.as_str()), ("update", r#"{"title":"Rust at dawn"}"#));
    assert_eq!(stream.retry(), Some("2000"));

    write(&database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    let second = stream.event();
    assert_eq!(second.data, r#"{"title":"Dusk"}"#);
    assert!(first.id.is_some() && second.id.is_some() && first.id != second.id);

    // A return to the first data is a change too, with the id of that data.
    write(&database, "UPDATE posts SET title = 'Rust at dawn' WHERE id = 1");
    let third = stream.event();
    assert_eq!((third.data, third.id), (first.data, first.id));

    write(&database, "DELETE FROM comments; DELETE FROM post_tags; DELETE FROM posts WHERE id = 1");
    assert_eq!(stream.data(), "null");
    write(&database, "INSERT INTO posts (id, title, author_id) VALUES (1, 'Again', 1)");
    assert_eq!(stream.data(), r#"{"title":"Again"}"#);
}

#[test]
fn changes_outside_the_selection_send_nothing() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let mut stream = open(&server, "/post/1/events", TITLE);
    stream.data();
    write(&database, "UPDATE posts SET likes = 99 WHERE id = 1");
    write(&database, "UPDATE posts SET title = 'Other' WHERE id = 2");
    write(&database, "INSERT INTO comments VALUES (100, 'new', 1, 1)");
    stream.assert_silent(SECOND);
    // The stream is still open.
    write(&database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    assert_eq!(stream.data(), r#"{"title":"Dusk"}"#);
}

#[test]
fn changes_of_selected_relations_are_sent() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let query = r#"{"post":{"$select":{"author":{"$select":{"name":true}},
        "comments":{"$select":{"text":true}},"tags":{"$select":{"label":true}}}}}"#;
    let mut stream = open(&server, "/post/2/events", query);
    assert_eq!(
        stream.data(),
        r#"{"author":{"name":"Bo"},"comments":[{"text":"yes"},{"text":"no"}],"tags":[{"label":"food"}]}"#
    );
    for (sql, expected) in [
        (
            "UPDATE users SET name = 'Bob' WHERE id = 2",
            r#"{"author":{"name":"Bob"},"comments":[{"text":"yes"},{"text":"no"}],"tags":[{"label":"food"}]}"#,
        ),
        (
            "DELETE FROM comments WHERE id = 4",
            r#"{"author":{"name":"Bob"},"comments":[{"text":"no"}],"tags":[{"label":"food"}]}"#,
        ),
        (
            "DELETE FROM post_tags WHERE post_id = 2",
            r#"{"author":{"name":"Bob"},"comments":[{"text":"no"}],"tags":[]}"#,
        ),
    ] {
        write(&database, sql);
        assert_eq!(stream.data(), expected, "{sql}");
    }
}

#[test]
fn streams_of_one_query_with_other_parameters_differ() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let query = r#"{"post":{"$select":{"comments":{"$select":{"text":true},
        "$where":{"field":"id","op":"eq","value":{"$param":"comment"}}}}}}"#;
    let open = |comment: u32| {
        let params = encode(&json!({ "comment": comment }).to_string());
        let request = request("/post/2/events", query).header("X-Mesh-Params", params);
        Stream::try_open(server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    let (mut fourth, mut fifth) = (open(4), open(5));
    assert_eq!(fourth.data(), r#"{"comments":[{"text":"yes"}]}"#);
    assert_eq!(fifth.data(), r#"{"comments":[{"text":"no"}]}"#);
    write(&database, "UPDATE comments SET text = 'perhaps' WHERE id = 5");
    assert_eq!(fifth.data(), r#"{"comments":[{"text":"perhaps"}]}"#);
    fourth.assert_silent(SECOND);
    write(&database, "UPDATE comments SET text = 'never' WHERE id = 4");
    assert_eq!(fourth.data(), r#"{"comments":[{"text":"never"}]}"#);
}

#[test]
fn a_reconnecting_client_is_not_sent_the_data_that_it_has() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let first = open(&server, "/post/1/events", TITLE).event();
    let last = first.id.unwrap();
    let again = || {
        let request = request("/post/1/events", TITLE).header("Last-Event-ID", &last);
        Stream::try_open(server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    let mut stream = again();
    stream.assert_silent(SECOND / 2);
    assert_eq!(stream.retry(), Some("2000"));
    write(&database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    assert_eq!(stream.data(), r#"{"title":"Dusk"}"#);
    assert_eq!(again().data(), r#"{"title":"Dusk"}"#, "what changed in between is sent first");
    let stranger = request("/post/1/events", TITLE).header("Last-Event-ID", "of another server");
    assert!(
        Stream::try_open(server.address, &stranger).is_ok_and(|mut stream| stream.data().contains("Dusk"))
    );
}

#[test]
fn invalid_requests_are_refused_without_a_stream() {
    let server = Server::with_database(&Database::blog());
    let refused = |request: Request| match Stream::try_open(server.address, &request) {
        Ok(_) => panic!("a stream"),
        Err((status, body)) => {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert!(body["requestId"].is_string(), "{body}");
            (status, body["error"].as_str().unwrap().to_owned())
        }
    };
    let error = |status: u16, error: &str| (status, error.to_owned());
    let unknown = r#"{"post":{"$select":{"nothing":true}}}"#;
    assert_eq!(refused(request("/post/1/events", unknown)), error(400, "ValidationError"));
    assert_eq!(refused(request("/nothing/1/events", TITLE)), error(400, "ValidationError"));
    assert_eq!(refused(request("/user/1/events", TITLE)), error(400, "ValidationError"));
    assert_eq!(refused(Request::new("GET", "/mesh/post/1/events")), error(400, "TransportError"));
    assert_eq!(refused(Request::post("/mesh/post/1/events", "{}")), error(405, "MethodNotAllowed"));
    let control = r#"{"post":{"$select":{"id":true},"$page":{}}}"#;
    assert_eq!(refused(request("/post/1/events", control)), error(400, "ValidationError"));
    // A missing record is not an error.
    assert_eq!(open(&server, "/post/999/events", TITLE).data(), "null");
    assert_eq!(open(&server, "/post/x/events", TITLE).data(), "null");
    let head = Request::new("HEAD", "/mesh/post/1/events").query(TITLE);
    let reply = server.send(&head);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")));
}

#[test]
fn events_can_be_disabled() {
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", "[events]\nenabled = false\n");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    let reply = server.send(&request("/post/1/events", TITLE));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (404, Some("NotFound")));
}

#[test]
fn a_stream_sends_heartbeats() {
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", "[events]\nheartbeat = \"1s\"\n");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    let mut stream = open(&server, "/post/1/events", TITLE);
    stream.data();
    let start = Instant::now();
    wait_until("two heartbeats", || {
        stream.assert_silent(SECOND / 10);
        stream.heartbeats() >= 2
    });
    let time = start.elapsed();
    assert!(stream.heartbeats() as u64 <= time.as_secs() + 1, "{} in {time:?}", stream.heartbeats());
}

#[test]
fn streams_end_with_the_server() {
    let mut server = Server::with_database(&Database::blog());
    let mut streams: Vec<_> = (0..20).map(|_| open(&server, "/post/1/events", TITLE)).collect();
    streams.iter_mut().for_each(|stream| drop(stream.data()));
    server.signal("TERM");
    for stream in &mut streams {
        stream.assert_ends();
    }
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn writes_through_the_server_are_sent_at_once() {
    let database = Database::blog();
    let schema = json!({
        "entities": {"post": {"fields": ["id", "title"], "writable": true}}
    });
    let schema = database.dir.write("schema.json", &schema.to_string());
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let mut stream = open(&server, "/post/1/events", TITLE);
    stream.data();
    let mut times = Vec::new();
    for round in 0..10 {
        let body = json!({"title": format!("Round {round}")}).to_string();
        let start = Instant::now();
        let put = Request::new("PUT", "/mesh/post/1").header("Content-Type", "application/json").body(&body);
        assert_eq!(server.send(&put).status, 200);
        assert_eq!(stream.data(), body);
        times.push(start.elapsed());
    }
    // If changes were found by polling, each round but the first would take a whole interval of 200 ms.
    let quickest = times.iter().skip(1).min().unwrap();
    assert!(*quickest < Duration::from_millis(150), "{times:?}");
}

#[test]
fn the_command_line_shell_wakes_a_stream() {
    if Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status().is_err() {
        mesh_tests::skip("sqlite3", "install Debian's sqlite3");
        return;
    }
    let database = Database::blog();
    let server = Server::with_database(&database);
    let mut stream = open(&server, "/post/1/events", TITLE);
    stream.data();
    let update = "UPDATE posts SET title = 'Shell' WHERE id = 1";
    assert!(Command::new("sqlite3").arg(database.file()).arg(update).status().unwrap().success());
    assert_eq!(stream.event().data, r#"{"title":"Shell"}"#);
}

/// A server with sessions, and streams of them.
struct SessionServer {
    server: Server,
    database: Database,
}

impl SessionServer {
    fn open(ttl: &str) -> Self {
        let database = Database::blog();
        write(
            &database,
            "ALTER TABLE users ADD COLUMN login TEXT; ALTER TABLE users ADD COLUMN password_hash TEXT;
             UPDATE users SET login = lower(name), password_hash =
                '$argon2id$v=19$m=64,t=1,p=1$3e1luYIoMxw96wrMsBU8Gw$e2dj/3uWicLfrAGD6gghny9om1AGXRU0SqCeffeNaOI';",
        );
        let config = format!(
            "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\nttl = \"{ttl}\"\n\
             [integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"login\"\npassword = \"password_hash\"\nrole = \"role\"\n"
        );
        let config = database.dir.write("mesh.toml", &config);
        let server = Server::start(&["--database", &database.url(), "--config", &config]);
        Self { server, database }
    }

    fn login(&self, name: &str) -> (String, String) {
        let body = json!({"login": name, "password": PASSWORD}).to_string();
        let reply = self.server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |key: &str| reply.json()[key].as_str().unwrap().to_owned();
        (text("token"), text("signingToken"))
    }

    fn request(&self, (token, key): &(String, String), path: &str, query: &str) -> Request {
        let signature = encoding::signature(key, &encode(query));
        request(path, query).header("X-Mesh-Token", token).header("X-Mesh-Signature", signature)
    }

    fn stream(&self, session: &(String, String)) -> Stream {
        let request = self.request(session, "/post/1/events", TITLE);
        Stream::try_open(self.server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
    }
}

const PASSWORD: &str = "correct horse";

#[test]
fn a_stream_ends_with_its_session() {
    let signed = SessionServer::open("15m");
    let unsigned = signed.server.send(&request("/post/1/events", TITLE));
    assert_eq!((unsigned.status, unsigned.json()["code"].as_str()), (401, Some("TOKEN_MISSING")));
    let (ada, bo) = (signed.login("ada"), signed.login("bo"));
    let mut streams = [signed.stream(&ada), signed.stream(&ada), signed.stream(&bo)];
    streams.iter_mut().for_each(|stream| drop(stream.data()));
    let logout = Request::new("POST", "/mesh/logout").header("X-Mesh-Token", &ada.0);
    assert_eq!(signed.server.send(&logout).status, 200);
    for stream in &mut streams[..2] {
        let event = stream.event();
        let body: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((event.kind.as_str(), body["code"].as_str()), ("error", Some("TOKEN_REVOKED")));
        stream.assert_ends();
    }
    write(&signed.database, "UPDATE posts SET title = 'Dusk' WHERE id = 1");
    assert_eq!(streams[2].data(), r#"{"title":"Dusk"}"#, "the stream of another session continues");
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    let signed = SessionServer::open("2s");
    let mut stream = signed.stream(&signed.login("ada"));
    stream.data();
    let event = stream.event();
    let body: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!((event.kind.as_str(), body["code"].as_str()), ("error", Some("TOKEN_EXPIRED")));
    stream.assert_ends();
}

#[test]
fn policies_apply_to_streams() {
    let database = Database::blog();
    let schema = json!({
        "entities": {
            "post": {"fields": ["id", "title", "published", "likes"], "types": {"published": "boolean"}},
            "user": {"fields": ["id", "name"]}
        },
        "joins": {"post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"}},
        "policies": {"*": {"post": {
            "fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}
        }}}
    });
    let schema = database.dir.write("schema.json", &schema.to_string());
    let server = Server::start(&["--database", &database.url(), "--schema", &schema]);
    let mut shown = open(&server, "/post/1/events", TITLE);
    assert_eq!(shown.data(), r#"{"title":"Rust at dawn"}"#);
    let mut listed = open_list(&server, "post", TITLE);
    let page: Value = serde_json::from_str(&listed.data()).unwrap();
    assert!(page["items"].to_string().contains("Rust at dawn"), "{page}");
    assert_eq!(open(&server, "/post/2/events", TITLE).data(), "null");
    for hidden in [r#"{"likes":true}"#, r#"{"author":{"$select":{"id":true}}}"#] {
        let query = format!(r#"{{"post":{{"$select":{hidden}}}}}"#);
        let reply = server.send(&request("/post/1/events", &query));
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert!(reply.text().contains("not found on entity 'post'"), "{}", reply.text());
    }
    write(&database, "UPDATE posts SET published = 0 WHERE id = 1");
    assert_eq!(shown.data(), "null", "the record is hidden now");
    let page = listed.data();
    assert!(!page.contains("Rust at dawn"), "{page}");
    assert_eq!(
        command(&["check", "--schema", &schema]).stdout(Stdio::null()).status().unwrap().code(),
        Some(0)
    );
}

#[test]
fn writes_to_postgresql_wake_a_stream() {
    let Some(cluster) = Cluster::start() else { return };
    let tables = "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT);
        CREATE TABLE posts (id BIGINT PRIMARY KEY, title TEXT, likes INTEGER, author_id BIGINT REFERENCES users (id));
        INSERT INTO users VALUES (1, 'Ada'); INSERT INTO posts VALUES (1, 'One', 0, 1), (2, 'Two', 0, 1);";
    let url = cluster.database("streams", tables);
    let server = Server::start(&["--database", &url]);
    let query = r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}}}}}"#;
    let mut stream = open(&server, "/post/1/events", query);
    let mut list = open_list(&server, "post", r#"{"post":{"$select":{"likes":true},"$page":{"first":1}}}"#);
    assert_items(&mut list, &json!([{"likes": 0}]));
    assert_eq!(stream.data(), r#"{"title":"One","author":{"name":"Ada"}}"#);
    for (sql, expected) in [
        ("UPDATE posts SET title = 'Uno' WHERE id = 1", r#"{"title":"Uno","author":{"name":"Ada"}}"#),
        ("UPDATE users SET name = 'Eve'", r#"{"title":"Uno","author":{"name":"Eve"}}"#),
        ("DELETE FROM posts WHERE id = 1", "null"),
    ] {
        cluster.execute(&format!("\\connect streams\n{sql};"));
        assert_eq!(stream.data(), expected);
    }
    cluster.execute("\\connect streams\nUPDATE posts SET likes = 7 WHERE id = 2;");
    // The first record was deleted, and the second one moved up.
    while !list.data().contains(r#""likes":7"#) {}
    stream.assert_silent(SECOND);
}
