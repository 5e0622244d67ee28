//! Reads of a real file: deadlines, writers and snapshots.

mod api_keys;
mod audit;
mod export;
mod few_related;
mod joined;
mod json;
mod junctions;
mod patterns;
mod related;
mod search;
mod snapshots;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use mesh_plan::{Context, Mesh, Plan, Request, ResolveError};
use mesh_ql::Format;
use rusqlite::Connection;

use super::{Backend as _, Database, Settings};

/// A database file in a temporary folder, which is removed at the end.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(sql: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-sqlite-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let file = Self(folder);
        file.write(sql);
        file
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.join("t.db")
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(crate) fn write(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }

    pub(crate) fn database(&self) -> Database {
        Database::open(self.path()).unwrap()
    }

    pub(crate) fn database_with(&self, change: impl FnOnce(&mut Settings)) -> Database {
        let mut settings = Settings::default();
        change(&mut settings);
        Database::open_with(self.path(), &settings).unwrap()
    }

    pub(crate) fn mesh(&self) -> Mesh {
        mesh(&self.database())
    }
}

/// Serves all tables of a database.
pub(crate) fn mesh(database: &Database) -> Mesh {
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
    Mesh::builder(schema).default_resolver(database.clone()).build().unwrap()
}

/// Returns the statements of a plan with their steps, which SQLite finds without waiting.
pub(crate) fn query_plan(database: &Database, plan: &Plan) -> Vec<(String, Vec<String>)> {
    database.query_plan(plan).now_or_never().unwrap().unwrap()
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ROWS: &str = "PRAGMA journal_mode = wal; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100) INSERT INTO t SELECT i, i % 7 FROM c;";

/// A view that takes a minute to read.
const ENDLESS: &str = "CREATE VIEW endless AS WITH RECURSIVE c(i) AS
    (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000000) SELECT sum(i) AS total FROM c;";

fn plan(mesh: &Mesh, text: &str) -> Plan {
    mesh.plan(&Request::collection(Format::Ql, text)).unwrap()
}

fn until(time: Duration) -> Context {
    Context::new("test").with_deadline(Instant::now() + time)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heavy_and_light_reads_share_connections() {
    let file = File::new(ROWS);
    let database = file.database();
    let mesh = mesh(&database);
    let mesh = Arc::new(mesh);
    let heavy = plan(&mesh, "{ t id n }");
    database.file.last().mark(heavy.id(), true);
    let light = plan(&mesh, "{ t n id }");
    let mut tasks = Vec::new();
    for client in 0..16 {
        let (mesh, heavy, light) = (Arc::clone(&mesh), heavy.clone(), light.clone());
        let file = database.file.last();
        tasks.push(tokio::spawn(async move {
            for round in 0..50 {
                file.mark(heavy.id(), true);
                let plan = if (client + round) % 2 == 0 { &heavy } else { &light };
                mesh.read(plan, &until(Duration::from_secs(60))).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_query_that_was_slow_once_is_light_again() {
    let file = File::new(ROWS);
    let database = file.database_with(|settings| settings.response_cache = 0);
    let mesh = mesh(&database);
    let once = plan(&mesh, "{ t id }");
    database.file.last().mark(once.id(), true);
    let start = Instant::now();
    while database.file.last().is_heavy(once.id()) {
        assert_eq!(mesh.read(&once, &until(Duration::from_secs(60))).await.unwrap().rows, 50);
        assert!(start.elapsed() < Duration::from_secs(60), "it stays heavy");
    }
}

#[tokio::test]
async fn a_read_past_its_deadline_is_interrupted_and_the_connection_stays_usable() {
    let file = File::new(&format!("{ROWS}{ENDLESS}"));
    let database = file.database();
    let mesh = mesh(&database);
    let slow = plan(&mesh, "{ endless total }");
    for _ in 0..3 {
        let result = mesh.read(&slow, &until(Duration::from_millis(50))).await;
        assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
        assert_eq!(
            mesh.read(&plan(&mesh, "{ t id }"), &until(Duration::from_secs(60))).await.unwrap().rows,
            50
        );
    }
    assert!(database.file.last().is_heavy(slow.id()));
}

#[tokio::test]
async fn a_cancelled_read_is_interrupted() {
    let file = File::new(&format!("{ROWS}{ENDLESS}"));
    let database = file.database();
    let mesh = mesh(&database);
    let slow = plan(&mesh, "{ endless total }");
    database.file.last().mark(slow.id(), true);
    // There are more reads than slots, so the last read runs only if the cancelled ones stop.
    for _ in 0..40 {
        let context = until(Duration::from_secs(60));
        let read = mesh.read(&slow, &context);
        assert!(tokio::time::timeout(Duration::from_millis(5), read).await.is_err());
    }
    let quick = plan(&mesh, "{ t id }");
    database.file.last().mark(quick.id(), true);
    assert_eq!(mesh.read(&quick, &until(Duration::from_secs(60))).await.unwrap().rows, 50);
}

#[tokio::test]
async fn a_read_waits_for_a_writer_that_holds_the_file() {
    let file = File::new(&ROWS.replace("wal", "delete"));
    let mesh = file.mesh();
    let writer = file.connect();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let read = plan(&mesh, "{ t id }");
    let result = mesh.read(&read, &until(Duration::from_millis(50))).await;
    assert!(matches!(result, Err(ResolveError::Busy | ResolveError::TimedOut)), "{result:?}");
    let ended = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        writer.execute_batch("COMMIT").unwrap();
    });
    assert_eq!(mesh.read(&read, &until(Duration::from_secs(60))).await.unwrap().rows, 50);
    ended.join().unwrap();
}

#[tokio::test]
async fn the_rows_of_one_read_belong_to_one_snapshot() {
    let file = File::new(
        "PRAGMA journal_mode = wal; CREATE TABLE parent (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
         CREATE TABLE child (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, parent_id INTEGER REFERENCES parent(id));
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 40) INSERT INTO parent SELECT i, 0 FROM c;
         INSERT INTO child SELECT id, 0, id FROM parent;",
    );
    let mesh = file.mesh();
    let writer = file.connect();
    let stop = Arc::new(AtomicU32::new(0));
    let stopped = Arc::clone(&stop);
    let writing = std::thread::spawn(move || {
        while stopped.load(Ordering::Relaxed) == 0 {
            writer
                .execute_batch("BEGIN; UPDATE parent SET n = n + 1; UPDATE child SET n = n + 1; COMMIT")
                .unwrap();
        }
    });
    let read = plan(&mesh, "{ parent n children { n } }");
    for _ in 0..200 {
        let body = mesh.read(&read, &until(Duration::from_secs(60))).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
        let first = &body["items"][0]["n"];
        for item in body["items"].as_array().unwrap() {
            assert_eq!((&item["n"], &item["children"][0]["n"]), (first, first));
        }
    }
    stop.store(1, Ordering::Relaxed);
    writing.join().unwrap();
}

/// `SPEC §14.6`
#[tokio::test]
async fn a_total_belongs_to_the_snapshot_of_its_page() {
    let file = File::new(
        "PRAGMA journal_mode = wal; CREATE TABLE t (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
         INSERT INTO t (size) VALUES (1);",
    );
    let mesh = file.mesh();
    let writer = file.connect();
    let stop = Arc::new(AtomicU32::new(0));
    let stopped = Arc::clone(&stop);
    let writing = std::thread::spawn(move || {
        let mut size = 1;
        while stopped.load(Ordering::Relaxed) == 0 {
            size = size % 20 + 1;
            let rows = vec![format!("({size})"); size].join(",");
            let replace = format!("BEGIN; DELETE FROM t; INSERT INTO t (size) VALUES {rows}; COMMIT");
            writer.execute_batch(&replace).unwrap();
        }
    });
    let mut sizes = HashSet::new();
    for page in [r#"{"first":50,"total":true}"#, r#"{"last":50,"total":true}"#] {
        let query = format!(r#"{{"t":{{"$select":{{"size":true}},"$page":{page}}}}}"#);
        let read = mesh.plan(&Request::collection(Format::Json, &query)).unwrap();
        for _ in 0..500 {
            let body = mesh.read(&read, &until(Duration::from_secs(60))).await.unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
            let (items, total) = (body["items"].as_array().unwrap(), &body["pageInfo"]["totalCount"]);
            assert_eq!(*total, items.len(), "{body}");
            assert!(items.iter().all(|item| item["size"] == *total), "{body}");
            sizes.insert(items.len());
        }
    }
    stop.store(1, Ordering::Relaxed);
    writing.join().unwrap();
    assert!(sizes.len() > 1, "the writer has written meanwhile: {sizes:?}");
}

/// Functions registered under the names of built-in ones would not work as window functions.
#[tokio::test]
async fn views_use_the_built_in_window_functions() {
    let file = File::new(ROWS);
    let view = "CREATE VIEW running AS SELECT id, sum(n) OVER (ORDER BY id) AS total FROM t";
    file.connect().execute_batch(view).unwrap();
    let mesh = file.mesh();
    let query = r#"{"running": {"$select": {"total": true}, "$page": {"first": 3}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, query)).unwrap();
    let body = mesh.read(&plan, &Context::default()).await.unwrap().bytes;
    assert!(body.starts_with(br#"{"items":[{"total":1},{"total":3},{"total":6}],"#), "{body:?}");
}

/// SQLite would count all rows of a table in one step, however many there are.
#[tokio::test]
async fn a_count_of_all_rows_is_moved_to_a_slow_read_and_interrupted() {
    let file = File::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000) INSERT INTO t SELECT i, i FROM c",
    );
    let database = file.database();
    let mesh = mesh(&database);
    let query = r#"{"t": {"$select": {}, "$aggregate": {"rows": {"fn": "count"}}}}"#;
    let count = mesh.plan(&Request::collection(Format::Json, query)).unwrap();
    let result = mesh.read(&count, &until(Duration::ZERO)).await;
    assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
    let body = mesh.read(&count, &until(Duration::from_secs(600))).await.unwrap().bytes;
    assert!(body.starts_with(br#"{"items":[{"rows":50000}]"#), "{body:?}");
    assert!(database.file.last().is_heavy(count.id()));
}

/// SQLite counts a call of a function as one step, however long its text is.
#[tokio::test]
async fn matching_of_long_texts_is_moved_to_a_slow_read_and_interrupted() {
    let file = File::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
         INSERT INTO t VALUES (1, replace(hex(zeroblob(4000000)), '0', 'a'));",
    );
    let database = file.database();
    let mesh = mesh(&database);
    for pattern in ["%b%".to_owned(), format!("%{}b%", "a_".repeat(450))] {
        let condition = format!(r#"{{"field": "body", "op": "like", "value": "{pattern}"}}"#);
        let matching = |conditions: usize| {
            let conditions = vec![condition.as_str(); conditions].join(",");
            let text =
                format!(r#"{{"t": {{"$select": {{"id": true}}, "$where": {{"or": [{conditions}]}}}}}}"#);
            mesh.plan(&Request::collection(Format::Json, &text)).unwrap()
        };
        let once = matching(3);
        let body = mesh.read(&once, &until(Duration::from_secs(600))).await.unwrap().bytes;
        assert!(body.starts_with(br#"{"items":[]"#), "{body:?}");
        assert!(database.file.last().is_heavy(once.id()), "{pattern:.10}");
        let result = mesh.read(&matching(60), &until(Duration::from_millis(20))).await;
        assert!(matches!(result, Err(ResolveError::TimedOut)), "{pattern:.10}: {result:?}");
    }
}
