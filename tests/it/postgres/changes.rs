//! Streams over PostgreSQL see every committed change of what they read, with and without triggers. `SPEC §10.5`

use mesh_tests::{Cluster, Request, Server, TempDir};
use serde_json::json;

use crate::events::stream::Stream;

/// Tables of each kind. Each has a column `n`, which is 0 at first.
const TABLES: &str = "
CREATE TABLE stock (id int PRIMARY KEY, n int);
CREATE VIEW stock_view AS SELECT id, n FROM stock;
CREATE VIEW nested_view AS SELECT id, n FROM stock_view;
CREATE MATERIALIZED VIEW stock_copy AS SELECT id, n FROM stock;
CREATE TABLE pair (a int, b int, n int, PRIMARY KEY (a, b));
CREATE TABLE reading (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
CREATE TABLE reading_1 PARTITION OF reading FOR VALUES FROM (0) TO (10);
CREATE TABLE measure (id int, day int, n int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE measure_1 PARTITION OF measure FOR VALUES FROM (0) TO (10);
CREATE TABLE animal (id int PRIMARY KEY, n int);
CREATE TABLE dog () INHERITS (animal);
CREATE UNLOGGED TABLE quick (id int PRIMARY KEY, n int);
CREATE TABLE twice (id int PRIMARY KEY, n int);
CREATE SCHEMA depot;
CREATE TABLE depot.shelf (id int PRIMARY KEY, n int);
CREATE DOMAIN code AS char(5);
CREATE TABLE padded (id char(5) PRIMARY KEY, n int);
CREATE TABLE coded (id code PRIMARY KEY, n int);
CREATE TABLE host (id inet PRIMARY KEY, n int);
CREATE TABLE net (id cidr PRIMARY KEY, n int);
CREATE TABLE level (id numeric PRIMARY KEY, n int);
CREATE TABLE moment (id timestamptz PRIMARY KEY, n int);
CREATE TABLE size (id float8 PRIMARY KEY, n int);
CREATE TABLE file (id bytea PRIMARY KEY, n int);
CREATE TABLE town (id text PRIMARY KEY, n int);
CREATE TABLE tag (id int PRIMARY KEY, n int);
CREATE TABLE stock_tags (stock_id int REFERENCES stock, tag_id int REFERENCES tag, PRIMARY KEY (stock_id, tag_id));
INSERT INTO stock VALUES (1, 0);
INSERT INTO pair VALUES (1, 1, 0);
INSERT INTO reading VALUES (1, 0);
INSERT INTO measure VALUES (1, 1, 0);
INSERT INTO dog VALUES (1, 0);
INSERT INTO quick VALUES (1, 0);
INSERT INTO twice VALUES (1, 0);
INSERT INTO depot.shelf VALUES (1, 0);
INSERT INTO padded VALUES ('de', 0);
INSERT INTO coded VALUES ('de', 0);
INSERT INTO host VALUES ('10.0.0.1', 0);
INSERT INTO net VALUES ('10.0.0.0/8', 0);
INSERT INTO level VALUES (100.0, 0);
INSERT INTO moment VALUES ('2024-05-01 12:00:00+02', 0);
INSERT INTO size VALUES (0.1, 0);
INSERT INTO file VALUES ('\\x00ff', 0);
INSERT INTO town VALUES ('ab', 0);
INSERT INTO tag VALUES (1, 0);
REFRESH MATERIALIZED VIEW stock_copy;
";

/// A table that is created after the triggers.
const LATE: &str = "CREATE TABLE public.late (id int PRIMARY KEY, n int); INSERT INTO late VALUES (1, 0);";

/// Streams of lists and records, and statements that change `n` to 1. The statements are run one after the other, so that each
/// change has to be noticed by itself.
const CHANGES: [(&str, &str, &str); 21] = [
    ("stock", "/stock", "UPDATE stock SET n = 1"),
    ("stockCopy", "/stockCopy", "REFRESH MATERIALIZED VIEW stock_copy"),
    ("pair", "/pair", "UPDATE pair SET n = 1"),
    ("reading", "/reading", "UPDATE reading_1 SET n = 1"),
    ("measure", "/measure", "UPDATE measure_1 SET n = 1"),
    ("animal", "/animal", "UPDATE dog SET n = 1"),
    ("quick", "/quick", "UPDATE quick SET n = 1"),
    ("shelf", "/shelf", "UPDATE depot.shelf SET n = 1"),
    ("late", "/late", "UPDATE late SET n = 1"),
    ("twice", "/twice", "SET session_replication_role = replica; UPDATE twice SET n = 1"),
    ("padded", "/padded/de/events", "UPDATE padded SET n = 1"),
    ("coded", "/coded/de/events", "UPDATE coded SET n = 1"),
    ("host", "/host/10.0.0.1%2F32/events", "UPDATE host SET n = 1"),
    ("net", "/net/10.0.0.0%2F8/events", "UPDATE net SET n = 1"),
    ("level", "/level/100/events", "UPDATE level SET n = 1"),
    ("level", "/level/100.00/events", "UPDATE level SET n = 1"),
    ("moment", "/moment/2024-05-01T10:00:00Z/events", "UPDATE moment SET n = 1"),
    ("size", "/size/0.1/events", "UPDATE size SET n = 1"),
    ("file", "/file/AP8=/events", "UPDATE file SET n = 1"),
    ("town", "/town/ab/events", "UPDATE town SET n = 1"),
    ("tag", "/tag/1/events", "UPDATE tag SET n = 1"),
];

/// Statements that change the stream of `twice`, with its new contents. Triggers do not report all of them.
const SEQUENCE: [(&str, &str); 7] = [
    ("ALTER TABLE twice DISABLE TRIGGER ALL; UPDATE twice SET n = 2", "2"),
    ("UPDATE twice SET n = 3", "3"),
    ("ALTER TABLE twice ENABLE TRIGGER ALL; UPDATE twice SET n = 4", "4"),
    ("DROP TRIGGER IF EXISTS mesh_changes ON twice; UPDATE twice SET n = 5", "5"),
    ("UPDATE twice SET n = 6", "6"),
    ("ALTER TABLE twice ALTER n TYPE bigint USING n + 1", "7"),
    ("TRUNCATE twice", ""),
];

fn open(server: &Server, entity: &str, path: &str) -> Stream {
    let request =
        Request::get(&format!("/mesh{path}"), &format!(r#"{{"{entity}":{{"$select":{{"n":true}}}}}}"#));
    let request =
        if path.ends_with("/events") { request } else { request.header("Accept", "text/event-stream") };
    Stream::try_open(server.address, &request).unwrap_or_else(|reply| panic!("{path}: {reply:?}"))
}

/// Returns the values of `n` in the next event.
#[track_caller]
fn values(stream: &mut Stream) -> String {
    let data: serde_json::Value = serde_json::from_str(&stream.data()).unwrap();
    let items = data["items"].as_array().cloned().unwrap_or_else(|| vec![data.clone()]);
    items.iter().map(|item| item["n"].to_string()).collect::<Vec<_>>().join(",")
}

fn check(cluster: &Cluster, name: &str, has_triggers: bool) {
    let url = cluster.database(name, TABLES);
    let schemas = ["--schemas", "public,depot"];
    let run = |more: &[&str]| {
        let output = mesh_tests::run(&[&["check", "--database", &url][..], &schemas, more].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    if has_triggers {
        // Running the statements again replaces the triggers.
        run(&["--install-triggers", "run"]);
        run(&["--install-triggers", "run"]);
    }
    let execute = |sql: &str| cluster.query_in(name, sql).unwrap_or_else(|| panic!("{sql}"));
    execute(LATE);
    let note = "note: Changes of table 'late' are polled";
    assert_eq!(run(&[]).contains(note), has_triggers, "a table without triggers among others is noted");
    let folder = TempDir::new();
    let schema = folder.path().join("schema.json");
    let document = mesh_tests::run(&[&["introspect", "--database", &url], &schemas[..]].concat()).stdout;
    let mut document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    document["entities"]["stock"]["writable"] = json!(true);
    std::fs::write(&schema, document.to_string()).unwrap();
    let schema = schema.display().to_string();
    let server =
        Server::start(&[&["--database", &url, "--schema", &schema, "--mutations"], &schemas[..]].concat());

    let mut streams: Vec<_> = CHANGES.iter().map(|(entity, path, _)| open(&server, entity, path)).collect();
    let mut views = ["stockView", "nestedView"].map(|entity| open(&server, entity, &format!("/{entity}")));
    streams.iter_mut().chain(&mut views).for_each(|stream| assert_eq!(values(stream), "0"));
    for ((_, path, sql), stream) in CHANGES.iter().zip(&mut streams) {
        execute(sql);
        assert_eq!(values(stream), "1", "{name} {path} {sql}");
    }
    for view in &mut views {
        assert_eq!(values(view), "1", "{name}: a table behind a view was changed");
    }
    assert_eq!(server.send(&Request::json("PUT", "/mesh/stock/1", r#"{"n":2}"#)).status, 200);
    for view in &mut views {
        assert_eq!(values(view), "2", "{name}: a write route has changed a table behind a view");
    }
    // A link is a change of the records that it leads to.
    let query = r#"{"stock":{"$select":{"tags":{"$select":{"n":true}}}}}"#;
    let mut tags = Stream::try_open(server.address, &Request::get("/mesh/stock/1/events", query)).unwrap();
    assert_eq!(tags.data(), r#"{"tags":[]}"#);
    execute("INSERT INTO stock_tags VALUES (1, 1)");
    assert_eq!(tags.data(), r#"{"tags":[{"n":1}]}"#);

    let mut twice = open(&server, "twice", "/twice");
    assert_eq!(values(&mut twice), "1");
    for (sql, expected) in SEQUENCE {
        execute(sql);
        assert_eq!(values(&mut twice), expected, "{name} {sql}");
    }
    if has_triggers {
        // The triggers are the same before and after this transaction.
        execute(
            "ALTER TABLE town DISABLE TRIGGER ALL; UPDATE town SET n = 2; ALTER TABLE town ENABLE ALWAYS TRIGGER mesh_changes;
             ALTER TABLE town ENABLE ALWAYS TRIGGER mesh_truncated",
        );
        let town = CHANGES.iter().zip(&mut streams).find(|((entity, ..), _)| *entity == "town");
        assert_eq!(values(town.unwrap().1), "2", "the triggers were disabled for a while");
    }
    let mut reading = open(&server, "reading", "/reading");
    assert_eq!(values(&mut reading), "1");
    execute("TRUNCATE reading_1");
    assert_eq!(values(&mut reading), "", "{name}: a partition was truncated");
    execute("INSERT INTO reading_1 VALUES (2, 5)");
    assert_eq!(values(&mut reading), "5");
    execute("ALTER TABLE reading DETACH PARTITION reading_1");
    assert_eq!(values(&mut reading), "", "{name}: a partition was detached");
    execute("CREATE TABLE reading_2 PARTITION OF reading FOR VALUES FROM (10) TO (20)");
    execute("INSERT INTO reading_2 VALUES (11, 6)");
    assert_eq!(values(&mut reading), "6", "{name}: a partition was created");
}

#[test]
fn streams_see_every_change_without_triggers() {
    let Some(cluster) = Cluster::start() else { return };
    check(&cluster, "polled", false);
}

#[test]
fn streams_see_every_change_with_triggers() {
    let Some(cluster) = Cluster::start() else { return };
    check(&cluster, "notified", true);
}

#[test]
fn a_commit_that_waits_for_a_standby_is_seen_when_it_becomes_visible() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT INTO stock VALUES (1, 0);");
    let server = Server::start(&["--database", &cluster.url()]);
    let mut stock = open(&server, "stock", "/stock");
    assert_eq!(values(&mut stock), "0");
    cluster.configure(&["synchronous_standby_names = 'absent'"]);
    cluster.execute("SELECT pg_reload_conf()");
    std::thread::scope(|scope| {
        // Its commit is in the log, and waits.
        scope.spawn(|| cluster.query("SET statement_timeout = '60s'; UPDATE stock SET n = 1"));
        mesh_tests::wait_until("it waits for the standby", || {
            cluster.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").as_deref()
                == Some("1")
        });
        // Other commits do not show it.
        cluster.execute("SET synchronous_commit = local; INSERT INTO stock VALUES (2, 0)");
        assert_eq!(values(&mut stock), "0,0");
        cluster.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        assert_eq!(values(&mut stock), "1,0");
    });
}

#[test]
fn streams_of_foreign_tables_are_refused() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE EXTENSION file_fdw;
         CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE remote (id int, n int) SERVER files OPTIONS (program 'echo 1,0', format 'csv');
         CREATE VIEW remote_view AS SELECT id, n FROM remote;
         CREATE VIEW nested_view AS SELECT id, n FROM remote_view;
         CREATE MATERIALIZED VIEW remote_copy AS SELECT id, n FROM remote;",
    );
    let server = Server::start(&["--database", &cluster.url()]);
    for (entity, status) in [("remote", 400), ("remoteView", 400), ("nestedView", 400), ("remoteCopy", 200)] {
        let request = Request::get(
            &format!("/mesh/{entity}"),
            &format!(r#"{{"{entity}":{{"$select":{{"n":true}}}}}}"#),
        );
        assert_eq!(server.send(&request).status, 200, "{entity} can be read");
        match Stream::try_open(server.address, &request.header("Accept", "text/event-stream")) {
            Ok(mut stream) => assert_eq!((200, values(&mut stream).as_str()), (status, "0"), "{entity}"),
            Err((found, body)) => {
                assert_eq!(found, status, "{entity} {body}");
                assert!(body.contains("has no streams"), "{entity} {body}");
            }
        }
    }
}
