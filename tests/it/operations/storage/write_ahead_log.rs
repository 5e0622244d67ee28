//! The write-ahead log of a database that is always being read.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mesh_tests::{Connection, Database, Request, Server, eventually, wait_until};
use serde_json::json;

const MIB: u64 = 1 << 20;
/// A view that takes a minute to read.
const TABLES: &str = "
    CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO notes VALUES (1, ''), (2, '');
    CREATE VIEW endless AS WITH RECURSIVE c(i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000000) SELECT sum(i) AS total FROM c, notes;";
const SCHEMA: &str = r#"{"entities": {
    "note": {"fields": ["id", "text"], "writable": ["text"]},
    "endless": {"table": "endless", "idField": null, "fields": ["total"]}}}"#;
const ENDLESS: &str = r#"{"endless":{"$select":{"total":true}}}"#;

#[test]
fn slow_reads_that_overlap_do_not_let_the_log_grow_without_bound() {
    let database = Database::new(TABLES);
    let schema = database.dir.write("schema.json", SCHEMA);
    let config = database.dir.write("mesh.toml", "request_timeout = '2s'\n[mutations]\nenabled = true\n");
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--config", &config]);
    let length = || fs::metadata(format!("{}-wal", database.file().display())).map_or(0, |file| file.len());
    let (done, writes) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (done, writes, server) = (&done, &writes, &server);
            scope.spawn(move || {
                // The reads begin and end at different times, so one is always running.
                wait_until("some writes", || writes.load(Ordering::Relaxed) > 10 * number);
                let mut connection = Connection::connect(server.address);
                while !done.load(Ordering::Relaxed) {
                    let reply = connection.send(&Request::get("/mesh/endless", ENDLESS));
                    assert!(matches!(reply.status, 500 | 503), "{reply:?}");
                }
            });
        }
        let mut writer = Connection::connect(server.address);
        let (mut longest, mut statuses) = (0, Vec::new());
        let is_emptied = eventually(|| {
            // SQLite does not write a value that is unchanged.
            let letter = ["x", "y"][statuses.len() % 2];
            let body = json!({"text": letter.repeat(900_000)}).to_string();
            let request = Request::new("PUT", "/mesh/note/1").header("Content-Type", "application/json");
            statuses.push(writer.send(&request.body(body)).status);
            writes.fetch_add(1, Ordering::Relaxed);
            longest = length().max(longest);
            longest > 64 * MIB && length() < 8 * MIB
        });
        done.store(true, Ordering::Relaxed);
        assert!(is_emptied, "the log had {longest} bytes and has {}", length());
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    });
}
