//! Reads that are cancelled by a client that disconnects or at their deadline: the statement stops, and its slot becomes free.

use mesh_tests::{Cluster, Connection, Database, Request, Server, command, wait_until};

const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text);
INSERT INTO users VALUES (1, 'Ada');
CREATE VIEW endless AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM c) SELECT sum(i) AS total FROM c;
CREATE VIEW slow AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000) SELECT sum(i) AS total FROM c;";

const ENDLESS: &str = r#"{"endless":{"$select":{"total":true}}}"#;
const SLOW: &str = r#"{"slow":{"$select":{"total":true}}}"#;

/// How reads are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Disconnect,
    Deadline,
}

/// Each cause, with the number of rounds.
const CAUSES: [(Cause, usize); 2] = [(Cause::Disconnect, 3), (Cause::Deadline, 1)];

/// Starts a server with one connection for reads of PostgreSQL, and no response cache.
fn start(url: &str, cause: Cause) -> Server {
    let timeout = if cause == Cause::Disconnect { "600s" } else { "5s" };
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log", "off", "--database", url]);
    command.env("MESH_REQUEST_TIMEOUT", timeout).env("MESH_CACHE__RESPONSES", "0");
    Server::spawn(command.env("MESH_LIMITS__DATABASE_CONNECTIONS", "1"))
}

/// Returns how many slots are free, and how many there are.
fn slots(server: &Server) -> (usize, usize) {
    let text = server.send(&Request::new("GET", "/metrics")).text();
    let figure = |state: &str| {
        let line = format!("mesh_pool_slots{{state=\"{state}\"}} ");
        let value = text.lines().find_map(|it| it.strip_prefix(&line)).expect("the figure");
        value.trim().parse().expect("a number")
    };
    (figure("free"), figure("all"))
}

/// Sends a read that never ends.
fn send_endless(server: &Server) -> Connection {
    let mut connection = server.connect();
    connection.write(&Request::get("/mesh/endless", ENDLESS).bytes());
    connection
}

/// Cancels reads: closes their connections, or waits until they are refused.
fn cancel(reads: Vec<Connection>, cause: Cause) {
    for mut read in reads {
        if cause == Cause::Deadline {
            let reply = read.read(false).expect("a reply");
            assert_eq!((reply.status, reply.json()["code"].as_str()), (500, Some("TIMEOUT")));
        }
    }
}

/// Whether the process has a thread that runs a slow read.
fn runs_slow_read(server: &Server) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap();
    let names = threads.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("comm")).ok());
    names.into_iter().any(|name| name.starts_with("mesh slow read"))
}

#[test]
fn reads_of_sqlite_stop_and_free_their_slots() {
    for (cause, rounds) in CAUSES {
        let database = Database::new(TABLES);
        let server = start(&database.url(), cause);
        let all = slots(&server).1;
        for _ in 0..rounds {
            let reads: Vec<_> = (0..all).map(|_| send_endless(&server)).collect();
            wait_until("all slots are taken", || slots(&server).0 == 0);
            wait_until("a statement runs", || runs_slow_read(&server));
            cancel(reads, cause);
            wait_until("no statement runs", || !runs_slow_read(&server));
            wait_until("all slots are free", || slots(&server) == (all, all));
            wait_until("a slow read is answered", || server.get("/slow", SLOW).status == 200);
        }
    }
}

#[test]
fn reads_of_postgres_stop_and_free_their_slots() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let mut session = cluster.session();
    let active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%endless%' \
                  AND pid <> pg_backend_pid()";
    let mut running = || session.query(active);
    for (cause, rounds) in CAUSES {
        let server = start(&cluster.url(), cause);
        for _ in 0..rounds {
            let read = send_endless(&server);
            wait_until("the statement runs", || running() == "1");
            assert_eq!(slots(&server), (0, 1), "{cause:?}");
            cancel(vec![read], cause);
            // This read uses the only connection.
            wait_until("a read is answered", || server.get("/slow", SLOW).status == 200);
            wait_until("the statement has stopped", || running() == "0");
            wait_until("the slot is free", || slots(&server) == (1, 1));
        }
    }
}
