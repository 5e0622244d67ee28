//! The server behind pgbouncer in transaction mode.

use std::thread;

use mesh_tests::{Cluster, Pooler, Request, Server, TempDir, command, encode};
use serde_json::json;

use super::shared_state::{TITLE, assert_writes_are_visible_on_other_servers, is_ended};
use crate::events;
use crate::support::sessions::{Session, why};

const TABLES: &str = "
CREATE TABLE accounts (id integer PRIMARY KEY, email text UNIQUE, password_hash text, role text);
INSERT INTO accounts VALUES (1, 'ada@example.org',
    '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer NOT NULL REFERENCES users);
INSERT INTO users SELECT n, 'User ' || n FROM generate_series(1, 50) AS n;
INSERT INTO posts SELECT n, 'Post ' || n, 1 + n % 50 FROM generate_series(1, 500) AS n;
";
const SCHEMA: &str = r#"{
    "entities": {
        "user": {"fields": ["id", "name"], "writable": ["name"]},
        "post": {"fields": ["id", "title"], "writable": true}
    },
    "joins": {
        "user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"},
        "post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"}
    }
}"#;
const POST: &str = r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true,"posts":{"$select":{"id":true},"$page":{"first":1},"$orderBy":[{"field":"id","direction":"asc"}]}}}}}}"#;

#[test]
fn reads_writes_and_sessions_work_over_two_connections() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let Some(pooler) = Pooler::start(&cluster, 2) else { return };
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let config = folder.write(
        "mesh.toml",
        "[postgres]\npooler = true\n[events]\nenabled = false\n[mutations]\nenabled = true\n[integrity]\n\
         enabled = true\nsecret = \"the secret of these tests, 32 bytes or more\"\n\
         [integrity.users]\ntable = \"accounts\"\n",
    );
    // The second server finds the schema of the first, which is named after the account.
    let serve = || Server::start(&["--config", &config, "--database", &pooler.url(), "--schema", &schema]);
    let servers = [serve(), serve()];
    let session = Session::begin(&servers[0]);
    thread::scope(|scope| {
        for client in 0..8usize {
            let (server, session) = (&servers[client % 2], &session);
            scope.spawn(move || {
                let mut connection = server.connect();
                for round in 0..25 {
                    let id = 1 + (client * 25 + round) % 500;
                    let path = format!("/mesh/post/{id}");
                    let reply = connection.send(&session.sign(Request::get(&path, POST), &encode(POST)));
                    let author = 1 + id % 50;
                    let first = if author == 1 { 50 } else { author - 1 };
                    let expected = json!({"name": format!("User {author}"), "posts": [{"id": first}]});
                    assert_eq!(reply.json(), json!({"title": format!("Post {id}"), "author": expected}));
                }
            });
        }
    });
    let new = json!({"id": 501, "title": "New"});
    let posted = servers[1].send(&session.write("POST", "/user/1/posts", Some(&new)));
    assert_eq!((posted.status, posted.text().contains("501")), (201, true), "{}", posted.text());
    let twice = servers[0].send(&session.write("POST", "/user/1/posts", Some(&new)));
    assert_eq!(twice.status, 409, "{}", twice.text());
    assert_eq!(session.logout(&servers[0]).status, 200);
    assert_eq!(why(&session.get(&servers[1], "/post/1", POST)), (401, "TOKEN_REVOKED".to_owned()));
    let connections =
        cluster.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mesh-server'");
    assert!(connections.is_some_and(|count| count.parse::<u32>().unwrap() <= 2));
}

/// Notifications use direct connections to the primary; everything else goes through the pooler.
#[test]
fn servers_behind_a_pooler_exchange_notifications_over_a_direct_address() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let Some(pooler) = Pooler::start(&cluster, 2) else { return };
    let settings = format!("[postgres]\npooler = {:?}\n", cluster.url());
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let config = folder.write(
        "mesh.toml",
        &format!(
            "{settings}[integrity]\nenabled = true\nsecret = \"the secret of these tests, 32 bytes or more\"\n\
             [integrity.users]\ntable = \"accounts\"\n"
        ),
    );
    let serve = || Server::start(&["--config", &config, "--database", &pooler.url(), "--schema", &schema]);
    let (a, b) = (serve(), serve());
    for _ in 0..10 {
        let session = Session::begin(&a);
        assert!(!is_ended(&session, &b));
        assert_eq!(session.logout(&a).status, 200);
        assert!(is_ended(&session, &b) && is_ended(&session, &a));
    }
    cluster.execute("DROP TABLE posts, users");
    drop((a, b));
    assert_writes_are_visible_on_other_servers(&cluster, &pooler.url(), &settings);
}

/// Without a direct connection, notifications of triggers are not received and changes are found by polling.
#[test]
fn changes_are_found_by_polling_behind_a_pooler() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let Some(pooler) = Pooler::start(&cluster, 2) else { return };
    let install = ["check", "--database", &cluster.url(), "--install-triggers", "run"];
    assert!(command(&install).output().unwrap().status.success());
    let folder = TempDir::new();
    for (name, pooler_setting) in
        [("with.toml", format!("{:?}", cluster.url())), ("without.toml", "true".to_owned())]
    {
        let config = folder.write(name, &format!("[postgres]\npooler = {pooler_setting}\n"));
        let server = Server::start(&["--config", &config, "--database", &pooler.url()]);
        let mut stream = events::open(&server, "/post/1/events", TITLE);
        let _ = stream.data();
        for round in 0..3 {
            cluster.execute(&format!("UPDATE posts SET title = '{name} {round}' WHERE id = 1"));
            assert_eq!(stream.data(), json!({ "title": format!("{name} {round}") }).to_string());
        }
    }
}
