//! Writes under a condition. `SPEC §18.3`

use std::thread;

use mesh_tests::{Cluster, Connection, Database, Request, Server, TempDir};
use serde_json::json;

const TABLES: &str = "CREATE TABLE counters (id integer PRIMARY KEY, n integer NOT NULL);
    INSERT INTO counters VALUES (1, 0);";
const SCHEMA: &str =
    r#"{"entities": {"counter": {"table": "counters", "fields": ["id", "n"], "writable": true}}}"#;
const COUNTER: &str = r#"{"counter": {"$select": {"n": true}}}"#;

#[test]
fn a_write_without_changes_or_with_a_violation_is_checked_too() {
    let database = Database::new(TABLES);
    let schema = database.dir.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let path = server.path("/counter/1");
    let tag = server.send(&Request::get(&path, COUNTER)).header("etag").unwrap().to_owned();
    for (tag, body, status) in
        [(tag.as_str(), "{}", 200), (tag.as_str(), r#"{"n": null}"#, 409), ("\"0\"", r#"{"n": null}"#, 412)]
    {
        let put = Request::new("PUT", &path).query(COUNTER).header("If-Match", tag);
        let reply = server.send(&put.header("Content-Type", "application/json").body(body));
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}

#[test]
fn hidden_records_are_missing_before_they_are_changed() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, open BOOLEAN);
         INSERT INTO notes VALUES (1, 'a', true), (2, 'b', false);",
    );
    let schema = database.dir.write(
        "schema.json",
        r#"{"entities": {"note": {"table": "notes", "fields": ["id", "text", "open"], "writable": true}},
            "policies": {"*": {"note": {"writable": true, "$where": {"field": "open", "op": "eq", "value": true}}}}}"#,
    );
    let config = database.dir.write("mesh.toml", "[mutations]\nenabled = true\n");
    let server = Server::start(&["--config", &config, "--database", &database.url(), "--schema", &schema]);
    let write = |method: &str, id: &str| {
        let request = Request::new(method, &format!("/mesh/note/{id}")).header("If-Match", "\"0\"");
        let request = request.header("Content-Type", "application/json");
        server.send(&if method == "PUT" { request.body(r#"{"text": "x"}"#) } else { request })
    };
    for method in ["PUT", "DELETE"] {
        assert_eq!(write(method, "1").status, 412, "{method}");
        for id in ["2", "3"] {
            let reply = write(method, id).json();
            assert_eq!(reply["message"], json!(format!("There is no 'note' with the id '{id}'")));
        }
    }
}

/// Increments a number once per writer. Each writer reads the number and writes it back.
fn count_together(url: &str) {
    const WRITERS: i64 = 24;
    /// The status of a request that had to wait too long for a connection or a lock. A write with this status has no effect.
    const BUSY: u16 = 503;
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
    let (address, path) = (server.address, server.path("/counter/1"));
    let add_one = || {
        let mut connection = Connection::connect(address);
        loop {
            let read = connection.send(&Request::get(&path, COUNTER));
            if read.status == BUSY {
                continue;
            }
            let n = read.json()["n"].as_i64().unwrap();
            let put = Request::new("PUT", &path).query(COUNTER);
            let put = put.header("If-Match", read.header("etag").unwrap());
            let put = put.header("Content-Type", "application/json");
            let reply = connection.send(&put.body(json!({"n": n + 1}).to_string()));
            match reply.status {
                200 => return reply.json()["n"] == json!(n + 1),
                412 | BUSY => {}
                // On a busy machine, a write can wait for longer than its time limit.
                500 if reply.json()["effect"] == "none" => {}
                status => panic!("{status}: {}", reply.text()),
            }
        }
    };
    thread::scope(|threads| {
        let writers: Vec<_> = (0..WRITERS).map(|_| threads.spawn(add_one)).collect();
        assert!(writers.into_iter().all(|writer| writer.join().unwrap()));
    });
    let read = server.send(&Request::get(&path, COUNTER));
    assert_eq!(read.json(), json!({"n": WRITERS}), "{url}");
}

#[test]
fn no_update_of_concurrent_writers_is_lost() {
    count_together(&Database::new(TABLES).url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    count_together(&cluster.url());
}

#[test]
fn an_account_that_cannot_lock_a_record_deletes_it_under_a_condition() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    cluster.execute(
        "CREATE ROLE app LOGIN; GRANT SELECT, DELETE ON counters TO app; INSERT INTO counters VALUES (2, 0), (3, 0), (4, 0)",
    );
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let url = cluster.url().replace("mesh@", "app@");
    let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
    let path = |id: &str| server.path(&format!("/counter/{id}"));
    let delete =
        |id: &str, tag: &str| Request::new("DELETE", &path(id)).query(COUNTER).header("If-Match", tag);
    let tag = server.send(&Request::get(&path("1"), COUNTER)).header("etag").unwrap().to_owned();
    assert_eq!(server.send(&delete("1", "\"0\"")).status, 412);
    assert_eq!(server.send(&delete("1", &tag)).status, 204);
    assert_eq!(server.send(&delete("2", "*")).status, 204);
    assert_eq!(server.send(&delete("1", "*")).status, 404, "it was deleted");
    // Another transaction changes or deletes the record after the server has read it.
    for (id, change, status) in [
        ("3", "UPDATE counters SET n = 1 WHERE id = 3", 412),
        ("4", "DELETE FROM counters WHERE id = 4", 404),
    ] {
        let transaction = cluster.transaction("postgres", change);
        let reply = thread::scope(|threads| {
            let deleting = threads.spawn(|| server.send(&delete(id, &tag)));
            cluster.wait_for_lock();
            transaction.commit();
            deleting.join().unwrap()
        });
        assert_eq!(reply.status, status, "{}", reply.text());
    }
    assert_eq!(cluster.query("SELECT id, n FROM counters").as_deref(), Some("3|1"));
}
