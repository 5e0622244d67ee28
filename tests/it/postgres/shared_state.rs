//! Several servers over one PostgreSQL database: login counts, revocations and read-your-writes.

use std::time::Instant;

use mesh_tests::{Cluster, Request, Server, TempDir, wait_until};
use serde_json::json;

use crate::security::bounds::check_nonces;
use crate::security::replay::assert_nothing_is_replayed;
use crate::support::sessions::{PASSWORD, Session, login, why};

const TABLES: &str = "
CREATE TABLE accounts (id integer PRIMARY KEY, email text UNIQUE, password_hash text, role text);
INSERT INTO accounts VALUES (1, 'ada@example.org',
    '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL);
INSERT INTO posts VALUES (1, 'Rust at dawn');
";

/// A database with accounts for several servers.
pub(crate) struct Deployment {
    pub(crate) cluster: Cluster,
    folder: TempDir,
}

impl Deployment {
    pub(crate) fn new() -> Option<Self> {
        let cluster = Cluster::start()?;
        cluster.execute(TABLES);
        Some(Self { cluster, folder: TempDir::new() })
    }

    /// Starts a server with further settings.
    pub(crate) fn start(&self, more: &str) -> Server {
        let config = self.folder.write(
            "mesh.toml",
            &format!(
                "database = \"{}\"\n{more}\n[integrity]\nenabled = true\n\
                 secret = \"the secret of these tests, 32 bytes or more\"\n\
                 [integrity.users]\ntable = \"accounts\"\n",
                self.cluster.url()
            ),
        );
        Server::start(&["--config", &config])
    }
}

#[test]
fn failed_logins_are_counted_across_servers() {
    let Some(deployment) = Deployment::new() else { return };
    let limits = "[limits]\nlogin_per_minute = 3";
    let (a, b) = (deployment.start(limits), deployment.start(limits));
    let fails = |server: &Server| login(server, "ada@example.org", "guess").status;
    assert_eq!([fails(&a), fails(&b), fails(&a)], [401; 3]);
    assert_eq!([fails(&b), fails(&a)], [429; 2]);
    let refused = login(&b, "ada@example.org", PASSWORD);
    assert_eq!(refused.status, 429, "the limit applies before the password is checked");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(login(&b, "bo@example.org", "guess").status, 401, "others can still try");
    // Neither successful nor refused logins are counted.
    deployment.cluster.execute("DELETE FROM mesh.attempt");
    let c = deployment.start(limits);
    for _ in 0..5 {
        let _ = Session::begin(&c);
    }
    let left = "SELECT count(*) FROM mesh.attempt WHERE paid_off > extract(epoch FROM now()) * 1000 + 1000";
    assert_eq!(deployment.cluster.query(left).as_deref(), Some("0"));
}

pub(crate) const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Terminates the connections that receive notifications.
const TERMINATE_LISTENERS: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7815104";

pub(crate) fn is_ended(session: &Session, server: &Server) -> bool {
    let reply = session.get(server, "/post/1", TITLE);
    match reply.status {
        200 => false,
        401 => why(&reply) == (401, "TOKEN_REVOKED".to_owned()),
        status => panic!("{status} {}", reply.text()),
    }
}

#[test]
fn a_session_revoked_on_one_server_is_refused_on_all() {
    let Some(deployment) = Deployment::new() else { return };
    let limits = "[limits]\nlogin_per_minute = 1000";
    let (a, b) = (deployment.start(limits), deployment.start(limits));
    let start = Instant::now();
    for _ in 0..50 {
        let session = Session::begin(&a);
        assert!(!is_ended(&session, &b));
        assert_eq!(session.logout(&a).status, 200);
        assert!(is_ended(&session, &b) && is_ended(&session, &a));
    }
    eprintln!("a login, a logout on all servers and four signed reads: {:?}", start.elapsed() / 50);

    // A server that was suspended finds the logout too.
    let session = Session::begin(&a);
    assert!(!is_ended(&session, &b));
    b.signal("STOP");
    let start = Instant::now();
    assert_eq!(session.logout(&a).status, 200);
    eprintln!("a logout while a server is suspended: {:?}", start.elapsed());
    b.signal("CONT");
    assert!(is_ended(&session, &b));
}

#[test]
fn a_session_with_too_many_nonces_is_refused_and_others_are_not() {
    let Some(deployment) = Deployment::new() else { return };
    let limits = "[limits]\nnonces_per_session = 3";
    let (a, b) = (deployment.start(limits), deployment.start(limits));
    // Each server counts for itself. A refused nonce is not stored.
    for (server, stored) in [(&a, "7"), (&b, "14")] {
        check_nonces(server, "PostgreSQL");
        assert_eq!(deployment.cluster.query("SELECT count(*) FROM mesh.nonce").as_deref(), Some(stored));
    }
}

#[test]
fn servers_of_one_database_accept_a_signature_once() {
    let Some(deployment) = Deployment::new() else { return };
    assert_nothing_is_replayed(&|| deployment.start(""));
}

const USERS: &str = "
CREATE TABLE public.users (id integer PRIMARY KEY, name text NOT NULL);
INSERT INTO public.users VALUES (1, 'Ada'), (2, 'Bo');
";
const WRITABLE: &str = r#"{"entities": {"user": {"fields": ["id", "name"], "writable": ["name"]}}}"#;
const NAME: &str = r#"{"user":{"$select":{"name":true}}}"#;

#[test]
fn a_write_on_one_server_is_visible_on_another() {
    let Some(primary) = Cluster::start() else { return };
    assert_writes_are_visible_on_other_servers(&primary, &primary.url(), "");
}

/// Tests two servers over a replica and a primary, which is reached at `url`, possibly through a pooler.
pub(crate) fn assert_writes_are_visible_on_other_servers(primary: &Cluster, url: &str, settings: &str) {
    primary.execute(USERS);
    let replica = primary.replica();
    let folder = TempDir::new();
    let schema = folder.write("schema.json", WRITABLE);
    let config = format!("replicas = [{:?}]\n[mutations]\nenabled = true\n{settings}", replica.url());
    let config = folder.write("mesh.toml", &config);
    let serve = || Server::start(&["--config", &config, "--database", url, "--schema", &schema]);
    let (a, b) = (serve(), serve());
    let name = |server: &Server| server.get("/user/1", NAME).json()["name"].as_str().unwrap().to_owned();
    let write = |server: &Server, name: &str| {
        let body = json!({ "name": name }).to_string();
        assert_eq!(server.send(&Request::json("PUT", "/mesh/user/1", body)).status, 200);
    };
    assert_eq!((name(&a), name(&b)), ("Ada".to_owned(), "Ada".to_owned()));

    // Replication is paused, so the replica returns old values.
    let assert_reads_go_to_the_replica = |round: &str| {
        primary.wait_for_replica(&replica);
        assert!(replica.query("SELECT pg_wal_replay_pause()").is_some());
        wait_until("replay is paused", || {
            replica.query("SELECT pg_get_wal_replay_pause_state()").as_deref() == Some("paused")
        });
        let before = name(&b);
        primary.execute(&format!("UPDATE users SET name = 'nobody {round}' WHERE id = 1"));
        assert_eq!((name(&a), name(&b)), (before.clone(), before), "reads go to the replica");
    };
    wait_until("both read from the replica", || {
        let seen = replica.query(
            "SELECT count(*) FROM pg_stat_activity WHERE (query LIKE '%users%' OR query = 'COMMIT') AND pid <> pg_backend_pid()",
        );
        let _ = (name(&a), name(&b));
        seen.is_some_and(|seen| seen.parse::<u32>().unwrap() >= 2)
    });
    assert_reads_go_to_the_replica("at first");
    write(&a, "Bert");
    assert_eq!((name(&b), name(&a)), ("Bert".to_owned(), "Bert".to_owned()));
    assert!(replica.query("SELECT pg_wal_replay_resume()").is_some());
    primary.wait_for_replica(&replica);

    let start = Instant::now();
    for round in 0..100 {
        let (one, other) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        write(one, &format!("Name {round}"));
        assert_eq!(name(other), format!("Name {round}"));
    }
    eprintln!("a write and a read on another server: {:?}", start.elapsed() / 100);

    // A server without notifications reads from the primary.
    assert_reads_go_to_the_replica("again");
    b.signal("STOP");
    write(&a, "Cleo");
    b.signal("CONT");
    assert_eq!(name(&b), "Cleo");
    let _ = primary.query(TERMINATE_LISTENERS);
    write(&a, "Dora");
    assert_eq!(name(&b), "Dora");
}
