//! Attacks on the memory and the connections of a database server: queries that are expensive to plan, none of which comes
//! again, and exports in sequence.

use std::time::Instant;

use mesh_tests::{Cluster, MariaDb, Request, Server, TempDir};
use serde_json::{Map, Value, json};

use super::duration;

/// The connections for reads, and as many for writes. Exports and messages have connections of their own.
const CONNECTIONS: usize = 4;
const OTHER_CONNECTIONS: usize = 4;
/// The growth of the database's memory in MiB. With one connection for each statement, a statement of 199 joined tables takes
/// more than this.
const GROWTH_MAX: f64 = 400.0;

const TABLES: &str = "
    CREATE TABLE users (id int PRIMARY KEY, name varchar(20));
    CREATE TABLE posts (id int PRIMARY KEY, author_id int NOT NULL, FOREIGN KEY (author_id) REFERENCES users (id));
    INSERT INTO users VALUES (1, 'Ada'), (2, 'Grace');
    INSERT INTO posts VALUES (1, 1), (2, 2), (3, 1);
";

/// The memory of a database in MiB, and the number of connections of mesh-server.
type Usage = (f64, usize);

/// Returns a query with many relations, whose aliases no other query has.
fn query(number: u64) -> String {
    let relations = |relation: &str, count: usize| -> Map<String, Value> {
        let read = json!({"$relation": relation, "$select": {"id": true}});
        (0..count).map(|it| (format!("a{number}x{it}"), read.clone())).collect()
    };
    let read = match number % 3 {
        0 => json!({"post": {"$select": relations("author", 199)}}),
        1 => json!({"user": {"$select": relations("posts", 199)}}),
        _ => json!({"user": {"$select": {"posts": {"$select": relations("author", 198)}}}}),
    };
    read.to_string()
}

/// Attacks a server of a database for some time.
fn attack(url: &str, engine: &str, usage: impl Fn() -> Usage) {
    let folder = TempDir::new();
    let config = format!(
        "database = \"{url}\"\nrequest_timeout = \"60s\"\n[limits]\ndatabase_connections = {CONNECTIONS}\n[export]\nenabled = true\n"
    );
    let config = folder.write("mesh.toml", &config);
    let server = Server::start(&["--config", &config]);
    let export = r#"{"post":{"$select":{"id":true,"author":{"$select":{"name":true}}}}}"#;
    let (start, before) = (Instant::now(), usage());
    let mut peak = before;
    for number in 0.. {
        let reply = server.send(&Request::post("/mesh", &json!({"query": query(number)}).to_string()));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let exported = Request::get("/mesh/post", export).header("Accept", "application/x-ndjson");
        assert_eq!(server.send(&exported).status, 200);
        let (memory, connections) = usage();
        peak = (peak.0.max(memory), peak.1.max(connections));
        if start.elapsed() >= duration() / 2 {
            eprintln!("soak, {engine}: {number} rounds; {:.0} MiB, then at most {:.0}", before.0, peak.0);
            break;
        }
    }
    eprintln!("soak, {engine}: at most {} connections", peak.1);
    assert!(peak.0 - before.0 < GROWTH_MAX, "the memory of the database grew to {:.0} MiB", peak.0);
    assert!(peak.1 <= 2 * CONNECTIONS + OTHER_CONNECTIONS, "{} connections", peak.1);
}

/// Returns the anonymous memory of a process in MiB; 0 if it has ended.
fn memory(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.trim())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

#[test]
fn postgres_keeps_its_memory_and_connections() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    attack(&cluster.url(), "postgres", || {
        let processes =
            "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = 'mesh-server'";
        let processes = cluster.query(processes).unwrap_or_default();
        (processes.split_whitespace().map(memory).sum(), processes.split_whitespace().count())
    });
}

#[test]
fn mariadb_keeps_its_memory_and_connections() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(TABLES);
    let file = server.query("SELECT @@pid_file").unwrap_or_default();
    attack(&server.url(), "mysql", || {
        let process = std::fs::read_to_string(file.trim()).unwrap_or_default();
        // One is the connection of this statement.
        let count =
            server.query("SELECT count(*) - 1 FROM information_schema.processlist").unwrap_or_default();
        (memory(&process), count.trim().parse().unwrap_or_default())
    });
}
