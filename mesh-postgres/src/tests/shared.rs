//! Connections that reads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use mesh_backend::pool::Servers as _;
use mesh_plan::{Context, Error, Plan, Request, ResolveError};
use mesh_ql::Format;
use tokio::task::JoinHandle;

use super::{BLOG, Cluster, Served, until};
use crate::{Backend as _, Settings};

const TITLE: &str = "{ post title }";
const DAWN: &str = r#"{"title":"Dawn"}"#;
const LABELS: &str = "{ tag label }";
/// A view that takes as long to read as a table specifies.
const NAPS: &str = "CREATE TABLE lengths (seconds float8 NOT NULL); INSERT INTO lengths VALUES (0);
    CREATE VIEW naps AS SELECT 1 AS id, 'rested' || pg_sleep(seconds) AS v FROM lengths;";
const NAP: &str = "{ nap v }";

pub(super) async fn start(cluster: &Cluster, settings: &Settings) -> Arc<Served> {
    cluster.execute(&format!("{BLOG}{NAPS}"));
    let served = Arc::new(Served::open(cluster, settings).await);
    share(&served, &served.plan_point(TITLE)).await;
    served
}

/// Runs a read until it shares a connection.
pub(super) async fn share(served: &Served, plan: &Plan) {
    until("the read shares a connection", async || {
        let before = served.database.pool.shared().1;
        served.mesh.read(plan, &Context::default()).await.unwrap();
        served.database.pool.shared().1 > before
    })
    .await;
}

impl Served {
    fn plan_point(&self, query: &str) -> Plan {
        self.mesh.plan(&Request::point(Format::Ql, query, "1")).unwrap()
    }

    fn plan_list(&self, query: &str) -> Plan {
        self.mesh.plan(&Request::collection(Format::Ql, query)).unwrap()
    }

    /// Returns whether a read shares a connection.
    async fn shares(&self, query: &str) -> bool {
        let before = self.database.pool.shared().1;
        self.collection(query).await.unwrap();
        self.database.pool.shared().1 > before
    }
}

/// Tasks that read a title in a loop and verify it.
pub(super) struct Neighbors {
    stop: Arc<AtomicBool>,
    reads: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Neighbors {
    pub(super) fn start(served: &Arc<Served>) -> Self {
        let mut neighbors = Self { stop: Arc::default(), reads: Arc::default(), tasks: Vec::new() };
        for _ in 0..8 {
            let served = Arc::clone(served);
            let (stop, reads) = (Arc::clone(&neighbors.stop), Arc::clone(&neighbors.reads));
            neighbors.tasks.push(tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(served.point("1", TITLE).await.unwrap(), DAWN);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        neighbors
    }

    /// Waits until the tasks have completed some more reads.
    pub(super) async fn wait_for_reads(&self) {
        let before = self.reads.load(Ordering::Relaxed);
        until("others read", async || self.reads.load(Ordering::Relaxed) > before + 40).await;
    }

    pub(super) async fn end(self) {
        self.wait_for_reads().await;
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn light_reads_share_few_connections() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings { connections: 8, ..Settings::default() };
    let served = start(&cluster, &settings).await;
    share(&served, &served.plan_list(LABELS)).await;
    let before = served.database.pool.shared().1;
    // On a busy machine, some reads take too long for a shared connection.
    until("reads share connections", async || {
        let reads = join_all((0..200).map(|_| served.collection(LABELS))).await;
        assert!(reads.into_iter().all(|body| body.unwrap().starts_with(r#"{"items":[{"label":"code"}"#)));
        served.database.pool.shared().1 > before + 500
    })
    .await;
    let (links, _) = served.database.pool.shared();
    assert!((1..=4).contains(&links), "{links}");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mesh-server'";
    let open: usize = cluster.query(open).unwrap().parse().unwrap();
    assert!(open <= settings.connections, "{open}");
    until("all slots are free", async || served.database.usage().free == settings.connections).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_read_affects_no_other_on_its_connection() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings::default();
    let served = start(&cluster, &settings).await;
    let nap = served.plan_list(NAP);
    share(&served, &nap).await;
    cluster.execute("UPDATE lengths SET seconds = 0.002");
    let context = Context::default();
    let readers = (0..30).map(|_| async {
        for _ in 0..10 {
            // The read is sent, and dropped before its answer arrives unless the machine is busy.
            drop(served.mesh.read(&nap, &context).now_or_never());
            assert_eq!(served.point("1", TITLE).await.unwrap(), DAWN);
            let name = served.point("2", "{ user name }").await.unwrap();
            assert_eq!(name, r#"{"name":"Bo"}"#);
        }
    });
    join_all(readers).await;
    until("all answers have arrived", async || served.database.usage().free == settings.connections).await;
    let cancelled = cluster.query("SELECT sum(sessions_killed) FROM pg_stat_database");
    assert_eq!(cancelled.as_deref(), Some("0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn light_reads_continue_while_heavy_ones_take_all_other_connections() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings { connections: 3, wait: Duration::from_millis(100), ..Settings::default() };
    let served = start(&cluster, &settings).await;
    cluster.execute("UPDATE lengths SET seconds = 600");
    let heavy: Vec<_> = (0..2)
        .map(|_| {
            let served = Arc::clone(&served);
            tokio::spawn(async move { served.collection(NAP).await })
        })
        .collect();
    // PostgreSQL ends statements on shared connections earlier.
    until("both run on connections of their own", async || {
        let sleeps = "SELECT count(*) FROM pg_stat_activity \
                      WHERE wait_event = 'PgSleep' AND query_start < clock_timestamp() - interval '200 milliseconds'";
        cluster.query(sleeps).as_deref() == Some("2")
    })
    .await;
    let third = served.collection(NAP).await;
    assert!(matches!(third, Err(Error::Resolve(ResolveError::Busy))), "{third:?}");
    for _ in 0..20 {
        assert_eq!(served.point("1", TITLE).await.unwrap(), DAWN);
    }
    heavy.iter().for_each(JoinHandle::abort);
    until("all slots are free", async || served.database.usage().free == 3).await;
}

/// A statement that was light takes longer than a shared connection allows. It is answered all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_becomes_heavy_moves_to_its_own_connection() {
    let Some(cluster) = Cluster::start() else { return };
    let served = start(&cluster, &Settings::default()).await;
    let nap = served.plan_list(NAP);
    share(&served, &nap).await;
    cluster.execute("UPDATE lengths SET seconds = 0.4");
    let neighbors = Neighbors::start(&served);
    for body in join_all((0..4).map(|_| served.collection(NAP))).await {
        assert!(body.unwrap().starts_with(r#"{"items":[{"v":"rested"}]"#));
    }
    neighbors.end().await;
    assert!(!served.shares(NAP).await);
    // It shares a connection again after some time.
    cluster.execute("UPDATE lengths SET seconds = 0");
    share(&served, &nap).await;
}

/// A busy machine delays some runs of every statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_slow_once_still_shares_a_connection() {
    let Some(cluster) = Cluster::start() else { return };
    let served = start(&cluster, &Settings::default()).await;
    share(&served, &served.plan_list(NAP)).await;
    cluster.execute("UPDATE lengths SET seconds = 0.04");
    served.collection(NAP).await.unwrap();
    cluster.execute("UPDATE lengths SET seconds = 0");
    share(&served, &served.plan_list(NAP)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_survive_the_loss_of_their_shared_connection() {
    let Some(cluster) = Cluster::start() else { return };
    let served = start(&cluster, &Settings::default()).await;
    let neighbors = Neighbors::start(&served);
    for _ in 0..5 {
        let terminated = cluster.query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE application_name = 'mesh-server' AND query LIKE '%title%'",
        );
        assert!(terminated.is_some());
        neighbors.wait_for_reads().await;
        share(&served, &served.plan_point(TITLE)).await;
    }
    neighbors.end().await;
}

/// A read that waits for a lock ends at its deadline, and reads of other tables are not held up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_holds_for_reads_of_a_locked_table() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings::default();
    let served = start(&cluster, &settings).await;
    let user = served.plan_point("{ user name }");
    share(&served, &user).await;
    let locker = served.database.writes.connect().await.unwrap();
    locker.execute("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let neighbors = Neighbors::start(&served);
    let mut context = Context::default();
    context.deadline = Some(Instant::now() + Duration::from_millis(500));
    for result in join_all((0..4).map(|_| served.mesh.read(&user, &context))).await {
        assert!(matches!(result, Err(ResolveError::TimedOut)), "{:?}", result.err());
    }
    neighbors.end().await;
    locker.execute("ROLLBACK").await.unwrap();
    assert_eq!(served.point("1", "{ user name }").await.unwrap(), r#"{"name":"Ada"}"#);
    until("all slots are free", async || served.database.usage().free == settings.connections).await;
}

/// A read returns few rows, then more than a shared connection accepts, then more than a response may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_of_many_rows_affects_no_other() {
    let Some(cluster) = Cluster::start() else { return };
    let served = start(&cluster, &Settings::default()).await;
    let query = "{ tag label posts { title comments { body } } }";
    let tags = served.plan_point(query);
    share(&served, &tags).await;
    let neighbors = Neighbors::start(&served);
    cluster.execute(
        "INSERT INTO comments SELECT i, repeat('x', 300), 1 FROM generate_series(10, 2000) i; ANALYZE comments",
    );
    let body = served.point("1", query).await.unwrap();
    assert!(body.len() > 500_000, "{}", body.len());
    cluster.execute("DELETE FROM comments WHERE id >= 10");
    share(&served, &tags).await;
    cluster.execute(
        "INSERT INTO comments SELECT i, 'x', 1 FROM generate_series(10, 200000) i; ANALYZE comments",
    );
    for _ in 0..2 {
        let result = served.point("1", query).await;
        assert!(matches!(result, Err(Error::Resolve(ResolveError::TooLarge { .. }))), "{:?}", result.err());
    }
    neighbors.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_are_closed() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings { idle_timeout: Duration::from_millis(400), ..Settings::default() };
    let served = start(&cluster, &settings).await;
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mesh-server'";
    assert_ne!(cluster.query(open).as_deref(), Some("0"));
    until("all are closed", async || cluster.query(open).as_deref() == Some("0")).await;
    assert_eq!(served.database.usage().free, settings.connections);
    assert_eq!(served.point("1", TITLE).await.unwrap(), DAWN);
}

/// Without room for prepared statements, or behind a pooler, no connection is shared.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_not_shared_without_prepared_statements() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    for (pooler, statements, connections) in [(true, 1 << 20, 4), (false, 0, 4), (false, 1 << 20, 1)] {
        let settings = Settings { pooler, statements, connections, ..Settings::default() };
        let served = Served::open(&cluster, &settings).await;
        for _ in 0..20 {
            let reads = join_all((0..8).map(|_| served.point("1", TITLE))).await;
            assert!(reads.into_iter().all(|body| body.unwrap() == DAWN));
        }
        assert_eq!(served.database.pool.shared().1, 0);
    }
}
