//! API keys: made by the command, sent as bearers, with the rights of their role. `SPEC §17.3`

mod command;

use std::fs::{self, File};

use mesh_tests::{Cluster, Database, Request, Response, Server, command, run, wait_until};
use serde_json::{Value, json};

use crate::events::stream::Stream;
use crate::support::sessions::{PASSWORD, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
const IDS: &str = r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"id","direction":"asc"}]}}"#;

/// Statements that both databases accept. The password is the same as in the other tests of sessions.
const TABLES: &str = "
CREATE TABLE accounts (id integer PRIMARY KEY, email text, password_hash text, role text);
INSERT INTO accounts VALUES (1, 'ada@example.org',
    '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, owner_id integer);
INSERT INTO posts VALUES (1, 'Rust at dawn', 1), (2, 'Slow bread', 7), (3, 'A map', 7);
";

/// Editors see and change the posts of their owner, readers only read.
fn schema() -> String {
    let document = json!({
        "entities": {"post": {
            "table": "posts", "fields": ["id", "title", "ownerId"], "columns": {"ownerId": "owner_id"}, "writable": true
        }},
        "policies": {
            "editor": {"post": {
                "$where": {"field": "ownerId", "op": "eq", "value": {"session": "userId"}}, "writable": {"update": ["title"]}
            }},
            "reader": {"post": {"fields": ["id", "title"]}},
        }
    });
    document.to_string()
}

/// A deployment with API keys.
struct Site {
    config: String,
    schema: String,
    files: Database,
    cluster: Option<Cluster>,
}

impl Site {
    /// Returns a site over SQLite and, if PostgreSQL is installed, one over PostgreSQL.
    fn both() -> impl Iterator<Item = Self> {
        let postgres = Cluster::start().map(|cluster| {
            let url = cluster.database("site", TABLES);
            Self::open(&url, Database::new(""), Some(cluster), "")
        });
        std::iter::once(Self::sqlite("")).chain(postgres)
    }

    /// Returns a site over SQLite with further settings.
    fn sqlite(more: &str) -> Self {
        let database = Database::new(TABLES);
        Self::open(&database.url(), database, None, more)
    }

    fn open(url: &str, files: Database, cluster: Option<Cluster>, more: &str) -> Self {
        let config = format!(
            "database = \"{url}\"\n{more}\n[api_keys]\ntable = \"api_keys\"\n[mutations]\nenabled = true\n"
        );
        let config = files.dir.write("mesh.toml", &config);
        let schema = files.dir.write("schema.json", &schema());
        Self { config, schema, files, cluster }
    }

    fn start(&self) -> Server {
        Server::start(&["--config", &self.config, "--schema", &self.schema])
    }

    /// Runs `api-key` and returns the exit status, standard output and standard error.
    fn command(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = run(&[&["api-key", "--config", &self.config], arguments].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// Makes a key, and the table if it is missing.
    fn key(&self, arguments: &[&str]) -> String {
        let (status, key, said) = self.command(&[&["--create-table"], arguments].concat());
        assert_eq!(status, 0, "{said}");
        let key = key.strip_suffix('\n').unwrap().to_owned();
        assert!(key.starts_with("mk_") && key.len() == 35, "{key}");
        assert!(!said.contains(&key) && said.contains("not shown again"), "{said}");
        key
    }

    /// Returns the id of a key by its role, from the list.
    fn id(&self, role: &str) -> String {
        let (_, list, said) = self.command(&["list"]);
        let line = list.lines().find(|line| line.contains(role)).unwrap_or_else(|| panic!("{list}{said}"));
        line.split_whitespace().next().unwrap().to_owned()
    }

    fn execute(&self, sql: &str) {
        match &self.cluster {
            None => self.files.connect().execute_batch(sql).unwrap(),
            Some(cluster) => drop(cluster.query_in("site", sql).expect("the statement runs")),
        }
    }
}

fn with_key(request: Request, key: &str) -> Request {
    request.header("Authorization", format!("Bearer {key}"))
}

fn get(server: &Server, key: &str, query: &str) -> Response {
    server.send(&with_key(Request::get(&server.path("/post"), query), key))
}

fn ids(reply: &Response) -> Vec<u64> {
    let body = reply.json();
    let items = body["items"].as_array().unwrap_or_else(|| panic!("{body}"));
    items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
}

fn update(key: &str, id: u32) -> Request {
    let request = Request::post(&format!("/mesh/post/{id}"), r#"{"title": "New"}"#);
    with_key(Request { method: "PUT".to_owned(), ..request }, key)
}

/// Stops a server and returns the entries of its audit log.
fn stop_and_read_audit(mut server: Server, site: &Site) -> Vec<Value> {
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    let text = fs::read_to_string(site.files.dir.path().join("audit.log")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn refused(code: &str) -> (u16, String) {
    (401, code.to_owned())
}

#[test]
fn keys_have_the_rights_of_their_role_until_they_are_revoked() {
    for site in Site::both() {
        let reader = site.key(&["--role", "reader"]);
        let editor = site.key(&["--role", "editor", "--owner", "7", "--expires", "90d"]);
        let mut server = site.start();
        assert_eq!(ids(&get(&server, &reader, IDS)), [1, 2, 3]);
        assert_eq!(ids(&get(&server, &editor, IDS)), [2, 3], "the posts of the owner");
        assert_eq!(server.send(&update(&editor, 2)).status, 200);
        assert_eq!(server.send(&update(&editor, 1)).status, 404);
        assert_eq!(server.send(&update(&reader, 2)).status, 400);
        let owner = r#"{"post":{"$select":{"ownerId":true}}}"#;
        assert_eq!((get(&server, &editor, owner).status, get(&server, &reader, owner).status), (200, 400));
        let missing = server.get("/post", IDS);
        assert_eq!(why(&missing), refused("TOKEN_MISSING"));
        assert_eq!(missing.header("www-authenticate"), Some("Bearer"));

        let (status, _, said) = site.command(&["revoke", &site.id("reader")]);
        assert_eq!(status, 0, "{said}");
        wait_until("the key is refused", || get(&server, &reader, IDS).status == 401);
        assert_eq!(why(&get(&server, &reader, IDS)), refused("TOKEN_INVALID"));
        assert_eq!(ids(&get(&server, &editor, IDS)), [2, 3]);
        server.signal("TERM");
        server.wait();

        let server = site.start();
        assert_eq!(ids(&get(&server, &editor, IDS)), [2, 3], "a restart keeps keys");
        drop(server);
        site.execute("UPDATE api_keys SET role = 'reader'");
        let server = site.start();
        assert_eq!(ids(&get(&server, &editor, IDS)), [1, 2, 3], "another role");
        drop(server);
        site.execute("UPDATE api_keys SET expires = '2020-01-02 03:04:05'");
        let server = site.start();
        let expired = get(&server, &editor, IDS);
        assert_eq!(why(&expired), refused("TOKEN_EXPIRED"));
        assert_eq!(expired.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
        assert_eq!(expired.header("cache-control"), Some("no-store"));
    }
}

/// Attack without a session: guesses of API keys.
#[test]
fn guesses_are_limited_and_do_not_affect_keys() {
    let site = Site::sqlite("");
    let unseen = [(); 3].map(|()| site.key(&["--role", "reader"]));
    let key = &unseen[0];
    let server = site.start();
    let mut connection = server.connect();
    let mut send = |key: &str| connection.send(&with_key(Request::get("/mesh/post", IDS), key)).status;
    let mut guesses = 0u32..;
    let mut until_refused = |send: &mut dyn FnMut(&str) -> u16| {
        guesses.find(|number| send(&format!("mk_guess{number}")) == 429).unwrap()
    };
    assert!(until_refused(&mut send) >= 600);
    // Meanwhile the server may permit one lookup more.
    let is_refused = unseen.iter().any(|key| {
        until_refused(&mut send);
        send(key) == 429
    });
    assert!(is_refused, "a key that the server has not seen counts as a guess");
    let server = site.start();
    assert_eq!(get(&server, key, IDS).status, 200);
    let mut connection = server.connect();
    for number in 0..700 {
        connection.send(&with_key(Request::get("/mesh/post", IDS), &format!("mk_guess{number}")));
    }
    assert_eq!(get(&server, key, IDS).status, 200);
}

/// Attack with access to the page or the log: secrets in log lines and errors.
#[test]
fn a_key_is_in_no_log_and_in_no_error() {
    let site = Site::sqlite("[audit]\nstore = \"file:audit.log\"");
    let key = site.key(&["--role", "editor", "--owner", "7"]);
    let path = site.files.dir.path().join("log");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--log-format", "json"]);
    serve.args(["--config", &site.config, "--schema", &site.schema]);
    let server = Server::spawn(serve.stderr(File::create(&path).unwrap()));
    assert_eq!(get(&server, &key, IDS).status, 200);
    assert_eq!(server.send(&update(&key, 2)).status, 200);
    let truncated = &key[..34];
    let mut replies = get(&server, truncated, IDS).text();
    site.execute("DROP TABLE api_keys");
    wait_until("the table cannot be read", || {
        let reply = get(&server, &key, IDS);
        replies.push_str(&reply.text());
        reply.status == 503
    });
    let entries = stop_and_read_audit(server, &site);
    let log = fs::read_to_string(&path).unwrap();
    let audit = fs::read_to_string(site.files.dir.path().join("audit.log")).unwrap();
    for text in [&log, &audit, &replies] {
        assert!(!text.contains(&truncated[3..]), "{text}");
    }
    assert!(log.contains("no such table"), "the cause is logged: {log}");
    let write = entries.iter().find(|entry| entry["event"] == "write").unwrap();
    assert_eq!(
        (&write["caller"], &write["user"], &write["role"]),
        (&json!("apiKey"), &json!("7"), &json!("editor"))
    );
    let session = write["session"].as_str().unwrap();
    assert!(session.len() == 32, "{session}");
    assert!(entries.iter().any(|entry| entry["code"] == "TOKEN_INVALID" && entry["user"].is_null()));
}

#[test]
fn with_signatures_a_key_reads_and_begins_sessions() {
    let integrity = "[integrity]\nenabled = true\nsecret = \"the secret of these tests, 32 bytes or more\"\n\
        [integrity.users]\ntable = \"accounts\"\n";
    let site = Site::sqlite(&format!(
        "[audit]\nstore = \"file:audit.log\"\n[limits]\nper_session = \"20/h\"\n{integrity}"
    ));
    let key = site.key(&["--role", "editor", "--owner", "7", "--expires", "1h"]);
    let server = site.start();
    assert_eq!(ids(&get(&server, &key, IDS)), [2, 3]);
    assert_eq!(why(&server.send(&update(&key, 2))), refused("SIGNATURE_MISSING"));
    let exchange = |body: &str| server.send(&with_key(Request::post("/mesh/auth", body), &key));
    let session = exchange("{}");
    assert_eq!(session.status, 200, "{}", session.text());
    let session = crate::support::sessions::Session {
        token: session.json()["token"].as_str().unwrap().to_owned(),
        signing_token: session.json()["signingToken"].as_str().unwrap().to_owned(),
    };
    assert_eq!(server.send(&session.write("PUT", "/post/2", Some(&json!({"title": "New"})))).status, 200);
    assert_eq!(server.send(&session.write("PUT", "/post/1", Some(&json!({"title": "New"})))).status, 404);
    assert_eq!(exchange(&json!({"login": "ada@example.org", "password": PASSWORD}).to_string()).status, 400);
    // All requests with the key count together, whatever their connection.
    let limited = (0..20).map(|_| get(&server, &key, IDS).status).filter(|status| *status == 429).count();
    assert!(limited > 0);
    assert_eq!(
        get(&server, &site.key(&["--role", "editor", "--owner", "7"]), IDS).status,
        200,
        "another key"
    );
    assert_eq!(session.get(&server, "/post", IDS).status, 200, "another session");

    let entries = stop_and_read_audit(server, &site);
    let of = |event: &str, outcome: &str| {
        let is_such = |entry: &&Value| entry["event"] == event && entry["outcome"] == outcome;
        entries.iter().find(is_such).unwrap_or_else(|| panic!("{entries:#?}"))
    };
    let caller =
        |entry: &Value| ["caller", "user", "role"].map(|name| entry[name].as_str().map(str::to_owned));
    let key_of = |kind: &str| [kind, "7", "editor"].map(|text| Some(text.to_owned()));
    assert_eq!(caller(of("write", "refused")), key_of("apiKey"));
    assert_eq!(caller(of("exchange", "ok")), key_of("apiKey"));
    assert_eq!(caller(of("write", "ok")), key_of("session"));
    assert_eq!(of("exchange", "ok")["session"], of("write", "ok")["session"], "the session that was begun");
    assert_eq!(
        (&of("exchange", "failed")["status"], of("request", "refused")["status"].as_u64()),
        (&json!(400), Some(429))
    );
}

#[test]
fn a_stream_ends_with_its_key() {
    let site = Site::sqlite("");
    let key = site.key(&["--role", "reader"]);
    let server = site.start();
    let request = with_key(Request::get("/mesh/post/1/events", TITLE), &key);
    let mut stream = Stream::try_open(server.address, &request).unwrap();
    assert_eq!(stream.data(), r#"{"title":"Rust at dawn"}"#);
    assert_eq!(site.command(&["revoke", &site.id("reader")]).0, 0);
    let event = stream.event();
    assert!(event.data.contains("TOKEN_INVALID"), "{event:?}");
    stream.assert_ends();
}

#[test]
fn a_database_that_is_away_refuses_no_key() {
    let site = Site::sqlite("");
    let (known, unseen) = (site.key(&["--role", "reader"]), site.key(&["--role", "reader"]));
    let server = site.start();
    assert_eq!(get(&server, &known, IDS).status, 200);
    let away = site.files.file().with_extension("away");
    fs::rename(site.files.file(), &away).unwrap();
    let reply = get(&server, &unseen, IDS);
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")), "{}", reply.text());
    fs::rename(away, site.files.file()).unwrap();
    wait_until("the key is accepted", || get(&server, &unseen, IDS).status == 200);
    assert_eq!(get(&server, &known, IDS).status, 200);
}

#[test]
fn keys_that_were_made_elsewhere_are_accepted() {
    let site = Site::sqlite("");
    site.files
        .connect()
        .execute_batch(
            "CREATE TABLE api_keys (hash BLOB PRIMARY KEY, owner INTEGER, role TEXT, expires INTEGER)",
        )
        .unwrap();
    let hash = mesh_tests::kit::encoding::sha256("mk_made.elsewhere");
    site.execute(&format!("INSERT INTO api_keys VALUES (X'{hash}', 7, 'editor', 4102444800)"));
    let server = site.start();
    assert_eq!(ids(&get(&server, "mk_made.elsewhere", IDS)), [2, 3]);
}
