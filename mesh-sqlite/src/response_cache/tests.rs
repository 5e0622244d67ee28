//! A cached answer is never older than the database: writers race readers, within one process and across two.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_plan::{Context, Mesh, Plan, Principal, Request};
use mesh_ql::Format;
use mesh_schema::Entity;
use rusqlite::Connection;

use crate::Backend as _;
use crate::before_park;
use crate::tests::{self, File};

/// The environment variable with the file that the child process writes to.
const WRITER: &str = "MESH_TEST_WRITER";
/// The environment variable with the number of commits that the child process makes.
const TIMES: &str = "MESH_TEST_COMMITS";
/// Returns the number of commits of one race: fewer in journal modes in which readers and writers block each other.
fn commits(journal: &str) -> i64 {
    if journal == "wal" { 300 } else { 25 }
}

fn file(journal: &str) -> File {
    File::new(&format!(
        "PRAGMA journal_mode = {journal}; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
        INSERT INTO t VALUES (1, 0), (2, 0);"
    ))
}

fn mesh(file: &File, cache: usize) -> Mesh {
    tests::mesh(&file.database_with(|settings| settings.response_cache = cache))
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.pragma_update(None, "synchronous", "off").unwrap();
    connection
}

fn set(connection: &Connection, n: i64) {
    connection.execute("UPDATE t SET n = ?", [n]).unwrap();
}

fn plan(mesh: &Mesh) -> Plan {
    mesh.plan(&Request::point(Format::Ql, "{ t n }", "1")).unwrap()
}

async fn read(mesh: &Mesh, plan: &Plan) -> Bytes {
    mesh.read(plan, &Context::new("test")).await.unwrap().bytes
}

fn number(body: &[u8]) -> i64 {
    let text = std::str::from_utf8(body).unwrap();
    text.strip_prefix("{\"n\":").unwrap().strip_suffix('}').unwrap().parse().unwrap()
}

/// Returns a runtime whose threads keep snapshots open, as the server's threads do.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().on_thread_park(before_park).build().unwrap()
}

#[tokio::test]
async fn one_answer_takes_at_most_a_sixteenth_of_the_cache() {
    let kept = async |length: usize| {
        let file = File::new(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT); INSERT INTO t VALUES (1, '{}');",
            "x".repeat(length)
        ));
        let database = file.database_with(|settings| settings.response_cache = 16 * 1_024);
        let mesh = tests::mesh(&database);
        read(&mesh, &plan(&mesh)).await;
        database.usage().answers
    };
    assert_eq!((kept(700).await, kept(800).await), (1, 0));
}

#[test]
fn an_answer_is_kept_until_a_commit() {
    for journal in ["wal", "delete"] {
        let file = file(journal);
        let mesh = mesh(&file, 1 << 20);
        let writer = connect(&file.path());
        runtime().block_on(async {
            let plan = plan(&mesh);
            read(&mesh, &plan).await;
            let first = read(&mesh, &plan).await;
            let second = read(&mesh, &plan).await;
            assert_eq!(first.as_ptr(), second.as_ptr(), "{journal}: one allocation");
            for n in 1..20 {
                set(&writer, n);
                assert_eq!(number(&read(&mesh, &plan).await), n, "{journal}");
                assert_eq!(number(&read(&mesh, &plan).await), n, "{journal}");
            }
            // A transaction that is not committed has no effect.
            writer.execute_batch("BEGIN; UPDATE t SET n = 100;").unwrap();
            assert_eq!(number(&read(&mesh, &plan).await), 19, "{journal}");
            writer.execute_batch("ROLLBACK").unwrap();
            assert_eq!(number(&read(&mesh, &plan).await), 19, "{journal}");
        });
    }
}

#[test]
fn a_cache_of_zero_bytes_keeps_nothing() {
    let file = file("wal");
    let mesh = mesh(&file, 0);
    runtime().block_on(async {
        let plan = plan(&mesh);
        let (first, second) = (read(&mesh, &plan).await, read(&mesh, &plan).await);
        assert_ne!(first.as_ptr(), second.as_ptr());
        assert_eq!(first, second);
    });
}

#[test]
fn a_database_may_switch_to_wal_mode_while_it_is_served() {
    let file = file("delete");
    let mesh = mesh(&file, 1 << 20);
    let writer = connect(&file.path());
    runtime().block_on(async {
        let plan = plan(&mesh);
        for n in 1..20 {
            if n == 10 {
                writer.execute_batch("PRAGMA journal_mode = wal").unwrap();
            }
            if n == 15 {
                writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            }
            set(&writer, n);
            assert_eq!(number(&read(&mesh, &plan).await), n);
            assert_eq!(number(&read(&mesh, &plan).await), n);
        }
    });
}

#[test]
fn answers_stay_within_the_size_of_the_cache() {
    let file = file("wal");
    connect(&file.path()).execute_batch(
        "WITH RECURSIVE c(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM c WHERE i < 5000) INSERT INTO t SELECT i, i FROM c",
    ).unwrap();
    let database = file.database_with(|settings| settings.response_cache = 100_000);
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database.clone()).build().unwrap();
    runtime().block_on(async {
        for id in 3..5_000 {
            let plan = mesh.plan(&Request::point(Format::Ql, "{ t n }", &id.to_string())).unwrap();
            assert_eq!(number(&read(&mesh, &plan).await), id);
        }
    });
    let held = database.usage().bytes;
    assert!(held <= 100_000 && held > 50_000, "{held}");
}

#[test]
fn an_answer_does_not_keep_its_plan() {
    let file = file("wal");
    let database = file.database_with(|settings| settings.response_cache = 16 << 20);
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
    let limits = mesh_plan::Limits { plans: 1, ..mesh_plan::Limits::default() };
    let mesh = Mesh::builder(schema).limits(limits).default_resolver(database.clone()).build().unwrap();
    let runtime = runtime();
    let read_many = |queries: std::ops::Range<u32>| {
        for number in queries {
            let query = format!(
                r#"{{"t":{{"$select":{{"n":true}},"$where":{{"field":"n","op":"gt","value":{number}}}}}}}"#
            );
            let plan = mesh.plan(&Request::collection(Format::Json, &query)).unwrap();
            runtime.block_on(read(&mesh, &plan));
        }
    };
    // Fills the bounded caches of statements.
    read_many(0..500);
    let before = database.usage().answers;
    let taken = allocation_counter::measure(|| read_many(500..1_500)).bytes_current;
    let answers = database.usage().answers - before;
    assert!(answers > 900, "{answers}");
    let each = taken / i64::try_from(answers).unwrap();
    assert!(each < 700, "{each} bytes for an answer of 70");
}

#[test]
fn answers_that_depend_on_a_session_are_not_shared() {
    let file = file("wal");
    let database = file.database_with(|settings| settings.response_cache = 1 << 20);
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
    let policy = |role: &str, _: &Entity| match role {
        "own" => Access::all().when(Condition::equal("id", SessionValue::UserId)),
        "blind" => Access::all().except(["n"]),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema).default_resolver(database).policy(policy).build().unwrap();
    runtime().block_on(async {
        let read_as = async |user: &str, role: &str, query: &str| {
            let principal = Principal::new(user, "a session").with_role(role);
            let plan =
                mesh.plan(&Request::collection(Format::Ql, query).with_principal(Some(&principal))).ok()?;
            let context = Context::new("test").with_principal(Some(Arc::new(principal)));
            Some(mesh.read(&plan, &context).await.unwrap().bytes)
        };
        let mut shared = Vec::new();
        for _ in 0..3 {
            let (one, two) = (read_as("1", "own", "{ t id }").await, read_as("2", "own", "{ t id }").await);
            let (one, two) = (one.unwrap(), two.unwrap());
            assert!(one.starts_with(b"{\"items\":[{\"id\":1}],"), "{one:?}");
            assert!(two.starts_with(b"{\"items\":[{\"id\":2}],"), "{two:?}");
            // Users with the same rights share an answer.
            shared.push(read_as("1", "all", "{ t id }").await.unwrap());
            shared.push(read_as("2", "all", "{ t id }").await.unwrap());
            // Another role has other plans, even if it sees the same rows.
            let blind = read_as("1", "blind", "{ t id }").await.unwrap();
            assert!(!shared.iter().any(|shared| shared.as_ptr() == blind.as_ptr()));
            assert!(read_as("1", "blind", "{ t n }").await.is_none(), "the field is hidden from the role");
            assert!(read_as("1", "all", "{ t n }").await.is_some());
        }
        assert!(shared.iter().all(|one| one.starts_with(b"{\"items\":[{\"id\":1},{\"id\":2}],")));
        // All but the first one, which was read, come from the cache.
        assert!(shared.iter().skip(2).all(|one| one.as_ptr() == shared[1].as_ptr()), "{shared:?}");
    });
}

/// Runs readers that check that no answer is older than the commits before the read.
fn race(file: &File, commits: i64, write: impl FnOnce(&AtomicI64)) {
    let committed = Arc::new(AtomicI64::new(0));
    let done = Arc::new(AtomicBool::new(false));
    let mesh = Arc::new(mesh(file, 1 << 20));
    let runtime = runtime();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (mesh, committed, done) = (Arc::clone(&mesh), Arc::clone(&committed), Arc::clone(&done));
            runtime.spawn(async move {
                let plan = plan(&mesh);
                let (mut reads, mut last) = (0u64, 0);
                // On a busy machine the writer may finish before a reader starts.
                while reads == 0 || !done.load(Ordering::Acquire) {
                    let least = committed.load(Ordering::Acquire).max(last);
                    last = number(&read(&mesh, &plan).await);
                    assert!(last >= least, "{last} is older than {least}");
                    reads += 1;
                    // An idle thread releases its read lock, which a writer without WAL waits for.
                    if reads % 16 == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                assert_eq!(number(&read(&mesh, &plan).await), commits);
                reads
            })
        })
        .collect();
    write(&committed);
    done.store(true, Ordering::Release);
    for reader in readers {
        assert!(runtime.block_on(reader).unwrap() > 0);
    }
}

#[test]
fn no_answer_is_older_than_a_commit_of_another_connection() {
    for journal in ["wal", "delete", "truncate"] {
        let file = file(journal);
        let commits = commits(journal);
        race(&file, commits, |committed| {
            let writer = connect(&file.path());
            for n in 1..=commits {
                set(&writer, n);
                committed.store(n, Ordering::Release);
                if n % 100 == 0 && journal == "wal" {
                    // A checkpoint fails if a reader blocks it.
                    let _ = writer.execute_batch("PRAGMA wal_checkpoint(RESTART)");
                }
            }
        });
    }
}

#[test]
fn no_answer_is_older_than_a_commit_of_another_process() {
    for journal in ["wal", "delete"] {
        let file = file(journal);
        let commits = commits(journal);
        race(&file, commits, |committed| {
            let module = module_path!().split_once("::").unwrap().1;
            let mut writer = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &format!("{module}::writes_to_the_file_of_the_environment"), "--nocapture"])
                .env(WRITER, file.path())
                .env(TIMES, commits.to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
                if let Some(n) = line.unwrap().strip_prefix("committed ") {
                    committed.store(n.parse().unwrap(), Ordering::Release);
                }
            }
            assert!(writer.wait().unwrap().success());
            assert_eq!(committed.load(Ordering::Acquire), commits);
        });
    }
}

/// The child process of the test above. It does nothing without the environment variable.
#[test]
fn writes_to_the_file_of_the_environment() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let times = std::env::var(TIMES).unwrap().parse().unwrap();
    let writer = connect(Path::new(&path));
    let mut out = std::io::stdout();
    for n in 1..=times {
        set(&writer, n);
        writeln!(out, "\ncommitted {n}").unwrap();
        out.flush().unwrap();
    }
}
