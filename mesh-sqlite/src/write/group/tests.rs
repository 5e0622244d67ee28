//! Writes that wait for each other, and how they fail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use mesh_plan::backend::CommitGate;
use mesh_plan::error::Rule;
use mesh_plan::mutation::{Outcome, WriteReply};
use mesh_plan::{
    Context, Error, Fields, Limits, Mesh, Mutator as _, RecordId, WriteError, WriteRequest, WriteTarget,
};
use mesh_ql::Format;
use mesh_schema::Document;

use super::*;
use crate::tests::File;
use crate::write::Writer;

/// Triggers that fail for certain numbers, that end the transaction, that keep what was changed, and that take long.
const TABLES: &str = "PRAGMA journal_mode = wal;
    CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE,
        parent_id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE log (n INTEGER);
    CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.n); END;
    CREATE TRIGGER fails AFTER INSERT ON t WHEN new.n = 100 BEGIN SELECT RAISE(ABORT, 'no'); END;
    CREATE TRIGGER ends AFTER INSERT ON t WHEN new.n = 200 BEGIN SELECT RAISE(ROLLBACK, 'no'); END;
    CREATE TRIGGER keeps AFTER INSERT ON t WHEN new.n = 400 BEGIN SELECT RAISE(FAIL, 'no'); END;
    CREATE TRIGGER takes_long AFTER INSERT ON t WHEN new.n = 300 BEGIN
        INSERT INTO log SELECT sum(i) FROM (WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)
            SELECT i FROM c);
    END;";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A database with a writer of `t`.
struct TestDatabase {
    file: File,
    writer: Writer,
    mesh: Mesh,
}

impl TestDatabase {
    fn new() -> Self {
        let file = File::new(TABLES);
        let document = Document::parse(
            r#"{"entities": {"t": {"table": "t", "fields": ["id", "n", "parent_id"], "writable": true}}}"#,
        );
        let database = file.database();
        let catalog = database.contents(&[]).unwrap().catalog;
        let schema = document.unwrap().load(Some(&catalog)).unwrap();
        let writer = database.writer().unwrap();
        let mesh = Mesh::builder(schema).default_resolver(database).default_mutator(writer.clone());
        Self { file, writer, mesh: mesh.build().unwrap() }
    }

    async fn write(&self, target: WriteTarget<'_>, body: &str) -> Result<WriteReply, WriteError> {
        self.write_within(target, body, Duration::from_secs(60)).await
    }

    async fn write_within(
        &self,
        target: WriteTarget<'_>,
        body: &str,
        time: Duration,
    ) -> Result<WriteReply, WriteError> {
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let mutation = self.mesh.plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap();
        let context = Context::new("test").with_deadline(Instant::now() + time);
        self.mesh.write(mutation, &context).await.into_result().map_err(|error| match error {
            Error::Write(error) => error,
            error => panic!("{error}"),
        })
    }

    async fn create(&self, body: &str) -> Result<WriteReply, WriteError> {
        self.write(WriteTarget::Create { entity: "t" }, body).await
    }

    /// Creates rows at the same time: all wait until the connection is free.
    async fn create_together(&self, bodies: &[&str]) -> Vec<Result<WriteReply, WriteError>> {
        let held = self.writer.connection.lock();
        let mut creating = Box::pin(join_all(bodies.iter().map(|body| self.create(body))));
        assert!((&mut creating).now_or_never().is_none());
        drop(held);
        creating.await
    }

    fn numbers(&self, table: &str) -> Vec<i64> {
        let connection = self.file.connect();
        let mut statement = connection.prepare(&format!("SELECT n FROM {table} ORDER BY rowid")).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Returns the number of commits in the log.
    fn commits(&self) -> usize {
        let log = std::fs::read(self.file.path().with_extension("db-wal")).unwrap();
        let frames = log.get(32..).unwrap_or_default().chunks_exact(24 + 4096);
        frames.filter(|frame| frame[4..8] != [0; 4]).count()
    }
}

#[tokio::test]
async fn writes_that_wait_are_committed_together() {
    let t = TestDatabase::new();
    let before = t.commits();
    let bodies: Vec<String> = (0..20).map(|n| format!(r#"{{"n":{n}}}"#)).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    for (n, reply) in t.create_together(&bodies).await.into_iter().enumerate() {
        let body = reply.unwrap().body.unwrap().unwrap();
        assert_eq!(body.bytes, format!(r#"{{"id":{},"n":{n},"parent_id":null}}"#, n + 1));
    }
    assert_eq!(t.numbers("log"), (0..20).collect::<Vec<_>>());
    assert!(t.commits() - before < 10, "{} commits", t.commits() - before);
}

/// The replies show the records in the new record's group: one group has 10 records, another one 50,000, of which all are read
/// to find the first one in the order, and more are shown than the bound permits.
#[tokio::test]
async fn a_reply_is_read_before_the_commit_and_its_failure_undoes_the_write_alone() {
    let file = File::new(
        "PRAGMA journal_mode = wal;
         CREATE TABLE t (id INTEGER PRIMARY KEY, of INTEGER, n INTEGER);
         CREATE INDEX t_of ON t (of);
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000)
             INSERT INTO t (of, n) SELECT CASE WHEN i < 10 THEN 1 ELSE 2 END, -i FROM c;",
    );
    let document = Document::parse(
        r#"{"entities": {"t": {"table": "t", "fields": ["id", "of", "n"], "writable": true}},
            "joins": {"t.same": {"entity": "t", "type": "many", "on": "t.of = t.of"}}}"#,
    );
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = document.unwrap().load(Some(&catalog)).unwrap();
    let writer = database.writer().unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database).default_mutator(writer.clone());
    let mesh = mesh.limits(Limits { rows: 1_000, ..Limits::default() }).build().unwrap();
    let least = r#"{"t": {"$select": {"same": {"$select": {"n": true},
        "$orderBy": [{"field": "n", "direction": "asc"}], "$page": {"first": 1}}}}}"#;
    let all = r#"{"t": {"$select": {"same": {"$select": {"n": true}}}}}"#;
    let create = async |body: &str, query: &str| {
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let request = WriteRequest::new(WriteTarget::Create { entity: "t" }).with_fields(&fields);
        let mutation = mesh.plan_write(&request.with_reply((Format::Json, query))).unwrap();
        writer.mutate(mutation, Context::new("test")).await.into_result()
    };
    let held = writer.connection.lock();
    let mut creating = Box::pin(join_all([
        create(r#"{"of":1,"n":1}"#, least),
        create(r#"{"of":2,"n":2}"#, least),
        create(r#"{"of":2,"n":3}"#, all),
        create(r#"{"of":1,"n":4}"#, all),
    ]));
    assert!((&mut creating).now_or_never().is_none());
    drop(held);
    let replies = creating.await;
    let shown: Vec<Option<i64>> = replies
        .iter()
        .map(|reply| {
            let body = reply.as_ref().ok()?.body.as_ref().expect("it is read by the writer");
            serde_json::from_slice::<serde_json::Value>(&body.bytes).unwrap()["same"][0]["n"].as_i64()
        })
        .collect();
    assert_eq!(shown, [Some(-9), Some(-50_000), None, Some(-1)]);
    assert!(matches!(replies[2], Err(WriteError::Failed(ResolveError::TooLarge { .. }))), "{replies:?}");
    let stored = "SELECT group_concat(n) FROM (SELECT n FROM t WHERE n > 0 ORDER BY n)";
    let stored: String = file.connect().query_row(stored, [], |row| row.get(0)).unwrap();
    assert_eq!(stored, "1,2,4");
}

#[tokio::test]
async fn a_write_that_was_given_up_is_not_committed_with_its_group() {
    let t = TestDatabase::new();
    let gate = Arc::new(CommitGate::default());
    assert!(gate.close());
    let fields = Fields::parse(br#"{"n":5}"#).unwrap();
    let request = WriteRequest::new(WriteTarget::Create { entity: "t" }).with_fields(&fields);
    let mutation = t.mesh.plan_write(&request).unwrap();
    let held = t.writer.connection.lock();
    let given_up = t.writer.mutate(mutation, Context::new("test").with_commit_gate(gate));
    let mut creating =
        Box::pin(futures_util::future::join3(t.create(r#"{"n":1}"#), given_up, t.create(r#"{"n":2}"#)));
    assert!((&mut creating).now_or_never().is_none());
    drop(held);
    let (first, given_up, last) = creating.await;
    assert!(first.is_ok() && last.is_ok(), "{first:?} {last:?}");
    assert!(matches!(given_up, Outcome::NotCommitted(_)), "{given_up:?}");
    assert_eq!((t.numbers("t"), t.numbers("log")), (vec![1, 2], vec![1, 2]));
}

#[tokio::test]
async fn a_write_that_fails_undoes_only_itself() {
    let t = TestDatabase::new();
    let replies = t.create_together(&[r#"{"n":1}"#, r#"{"n":1}"#, r#"{"n":100}"#, r#"{"n":2}"#]).await;
    let [Ok(_), Err(WriteError::Conflict { rule: Rule::Unique, .. }), Err(_), Ok(_)] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert_eq!((t.numbers("t"), t.numbers("log")), (vec![1, 2], vec![1, 2]));
}

#[tokio::test]
async fn a_write_that_ends_the_transaction_fails_alone() {
    // In order: a trigger ends the transaction, a trigger keeps its changes, a reference is checked at the commit, and
    // a write takes longer than others may wait for.
    for wrong in [r#"{"n":200}"#, r#"{"n":400}"#, r#"{"n":9,"parent_id":7}"#, r#"{"n":300}"#] {
        let t = TestDatabase::new();
        let replies = t.create_together(&[r#"{"n":1}"#, r#"{"n":2}"#, wrong, r#"{"n":3}"#]).await;
        let done: Vec<bool> = replies.iter().map(Result::is_ok).collect();
        let takes_long = wrong.contains("300");
        assert_eq!(done, [true, true, takes_long, true], "{wrong}: {replies:?}");
        let expected = if takes_long { vec![1, 2, 300, 3] } else { vec![1, 2, 3] };
        assert_eq!(t.numbers("t"), expected, "{wrong}");
        if !takes_long {
            assert_eq!(t.numbers("log"), expected, "{wrong}: written once");
        }
    }
}

#[test]
fn a_write_that_cannot_begin_in_time_is_refused_and_not_run() {
    let t = TestDatabase::new();
    let runtime = runtime();
    let held = t.writer.connection.lock();
    let target = WriteTarget::Create { entity: "t" };
    let (late, given_up) = (Duration::from_millis(20), Duration::from_secs(60));
    let (first, second) = runtime.block_on(async {
        tokio::join!(
            t.write_within(target, r#"{"n":1}"#, late),
            tokio::time::timeout(late, t.write_within(target, r#"{"n":2}"#, given_up))
        )
    });
    assert!(matches!(first, Err(WriteError::Failed(ResolveError::Busy))), "{first:?}");
    assert!(second.is_err());
    drop(held);
    runtime.block_on(t.create(r#"{"n":3}"#)).unwrap();
    assert_eq!(t.numbers("t"), [3]);
    let id = RecordId::Text("1");
    runtime.block_on(t.write(WriteTarget::Update { entity: "t", id }, r#"{"n":4}"#)).unwrap();
    assert_eq!(t.numbers("t"), [4]);
}

#[test]
fn a_runtime_that_ends_leaves_the_queue_to_others() {
    let t = TestDatabase::new();
    let held = t.writer.connection.lock();
    let ended = runtime();
    ended.block_on(async { assert!(t.create(r#"{"n":1}"#).now_or_never().is_none()) });
    ended.shutdown_background();
    drop(held);
    runtime().block_on(t.create(r#"{"n":2}"#)).unwrap();
    assert!(t.numbers("t").contains(&2));
}
