//! Servers over MariaDB: events, shared state and values of every type.

mod galera;
mod types;
mod variables;

use mesh_tests::{MariaDb, Server, TempDir};
use serde_json::json;

use crate::events::lists::{assert_items, open_list};
use crate::events::open;
use crate::support::sessions::{PASSWORD, Session, login, why};

#[test]
fn writes_of_other_programs_wake_streams() {
    let Some(mariadb) = MariaDb::start() else { return };
    mariadb.execute(
        "CREATE TABLE users (id int PRIMARY KEY, name text);
        CREATE TABLE posts (id int PRIMARY KEY, title text, likes int, author_id int, FOREIGN KEY (author_id) REFERENCES users (id));
        INSERT INTO users VALUES (1, 'Ada'); INSERT INTO posts VALUES (1, 'One', 0, 1), (2, 'Two', 0, 1)",
    );
    let server = Server::start(&["--database", &mariadb.url()]);
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
        mariadb.execute(sql);
        assert_eq!(stream.data(), expected);
    }
    mariadb.execute("UPDATE posts SET likes = 7 WHERE id = 2");
    // The first record was deleted, and the second one moved up.
    while !list.data().contains(r#""likes":7"#) {}
    // The next event of the record is that it is there again.
    mariadb.execute("INSERT INTO posts VALUES (1, 'Back', 0, 1)");
    assert_eq!(stream.data(), r#"{"title":"Back","author":{"name":"Eve"}}"#);
}

#[test]
fn streams_are_refused_if_the_database_does_not_tell_of_changes() {
    let Some(mariadb) = MariaDb::start() else { return };
    mariadb.execute(
        "CREATE TABLE plain (id int PRIMARY KEY, n int); CREATE TABLE parts LIKE plain;
        ALTER TABLE parts PARTITION BY HASH (id) PARTITIONS 2; CREATE TABLE oldies LIKE plain; ALTER TABLE oldies ENGINE = MyISAM;
        CREATE TABLE versions (id int PRIMARY KEY, n int) WITH SYSTEM VERSIONING;
        CREATE TABLE shorts (id int PRIMARY KEY, n int) ENGINE = MEMORY; CREATE TABLE arias (id int PRIMARY KEY, n int) ENGINE = Aria;
        CREATE VIEW latest AS SELECT v.id, v.n FROM versions v; CREATE VIEW briefs AS SELECT id, n FROM shorts;
        CREATE DATABASE elsewhere; CREATE TABLE elsewhere.far LIKE plain; CREATE VIEW fars AS SELECT f.id, f.n FROM elsewhere.far f;
        CREATE VIEW outer_briefs AS SELECT id, n FROM briefs",
    );
    for table in ["plain", "parts", "oldies", "versions"] {
        mariadb.execute(&format!("INSERT INTO {table} VALUES (1, 0)"));
    }
    let server = Server::start(&["--database", &mariadb.url()]);
    let query = |entity: &str| format!(r#"{{"{entity}":{{"$select":{{"n":true}}}}}}"#);
    for (entity, table) in [
        ("plain", "plain"),
        ("part", "parts"),
        ("oldy", "oldies"),
        ("version", "versions"),
        ("latest", "versions"),
    ] {
        mariadb.execute(&format!("UPDATE {table} SET n = 0"));
        let mut list = open_list(&server, entity, &query(entity));
        assert_items(&mut list, &json!([{"n": 0}]));
        mariadb.execute(&format!("UPDATE {table} SET n = 1"));
        assert_items(&mut list, &json!([{"n": 1}]));
    }
    for entity in ["short", "aria", "brief", "outerBrief", "far"] {
        let request = mesh_tests::Request::get(&format!("/mesh/{entity}"), &query(entity));
        let reply = server.send(&request.header("Accept", "text/event-stream"));
        assert_eq!(reply.status, 400, "{entity}: {}", reply.text());
        assert!(reply.text().contains("has no streams"), "{entity}: {}", reply.text());
    }
}

#[test]
fn servers_share_logins_and_ended_sessions() {
    let Some(mariadb) = MariaDb::start() else { return };
    mariadb.execute(
        "CREATE TABLE accounts (id int PRIMARY KEY, email varchar(100) UNIQUE, password_hash text, role text);
        INSERT INTO accounts VALUES (1, 'ada@example.org',
            '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
        CREATE TABLE posts (id int PRIMARY KEY, title text NOT NULL);
        INSERT INTO posts VALUES (1, 'Rust at dawn')",
    );
    let folder = TempDir::new();
    let config = folder.write(
        "mesh.toml",
        &format!(
            "database = \"{}\"\n[limits]\nlogin_per_minute = 3\n[integrity]\nenabled = true\n\
             secret = \"the secret of these tests, 32 bytes or more\"\n[integrity.users]\ntable = \"accounts\"\n",
            mariadb.url()
        ),
    );
    let (a, b) = (Server::start(&["--config", &config]), Server::start(&["--config", &config]));
    let session = Session::begin(&a);
    let title = r#"{"post":{"$select":{"title":true}}}"#;
    assert_eq!(session.get(&b, "/post/1", title).status, 200);
    assert_eq!(session.logout(&a).status, 200);
    for server in [&a, &b] {
        assert_eq!(why(&session.get(server, "/post/1", title)), (401, "TOKEN_REVOKED".to_owned()));
    }
    let fails = |server: &Server| login(server, "ada@example.org", "guess").status;
    assert_eq!([fails(&a), fails(&b), fails(&a)], [401; 3]);
    assert_eq!([fails(&b), fails(&a)], [429; 2]);
    assert_eq!(
        login(&b, "ada@example.org", PASSWORD).status,
        429,
        "the limit applies before the password is checked"
    );
}
