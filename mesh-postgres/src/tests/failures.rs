//! Servers of the database that fail and recover.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_backend::pool::Servers as _;
use mesh_plan::{Error, ResolveError};
use tokio::task::JoinHandle;

use super::{BLOG, Cluster, PATIENCE, Served, until};
use crate::{Backend as _, Settings};

/// Tasks that read in a loop and count the results.
struct Readers {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    busy: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Readers {
    fn start(served: &Arc<Served>, query: &'static str, expected: &'static str) -> Self {
        let mut readers =
            Self { stop: Arc::default(), answered: Arc::default(), busy: Arc::default(), tasks: Vec::new() };
        for _ in 0..4 {
            let (served, stop) = (Arc::clone(served), Arc::clone(&readers.stop));
            let (answered, busy) = (Arc::clone(&readers.answered), Arc::clone(&readers.busy));
            readers.tasks.push(tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    match served.point("1", query).await {
                        Ok(body) => {
                            assert_eq!(body, expected);
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Resolve(ResolveError::Busy)) => {
                            busy.fetch_add(1, Ordering::Relaxed);
                            // A loop of immediate refusals would starve the timers of the runtime.
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
                    }
                }
            }));
        }
        readers
    }

    /// Waits until 20 more reads are answered.
    async fn wait_for_reads(&self) {
        let (before, start) = (self.answered.load(Ordering::Relaxed), Instant::now());
        while self.answered.load(Ordering::Relaxed) < before + 20 {
            assert!(start.elapsed() < PATIENCE, "no reads within {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_continue_while_servers_fail_and_recover() {
    let Some(mut primary) = Cluster::start() else { return };
    primary.execute(BLOG);
    let mut replicas = [primary.replica(), primary.replica()];
    let settings = Settings {
        replicas: replicas.iter().map(Cluster::url).collect(),
        lag: Duration::from_secs(1),
        wait: Duration::from_millis(500),
        ..Settings::default()
    };
    let served = Arc::new(Served::open(&primary, &settings).await);
    let expected =
        r#"{"title":"Dawn","author":{"name":"Ada"},"comments":[{"body":"first"},{"body":"second"}]}"#;
    let query = "{ post title author { name } comments { body } }";
    assert_eq!(served.point("1", query).await.unwrap(), expected);
    until("both replicas answer", async || served.database.replicas.healthy() == 2).await;

    let readers = Readers::start(&served, query, expected);
    readers.wait_for_reads().await;

    // A replica fails and recovers.
    replicas[0].kill();
    readers.wait_for_reads().await;
    until("one replica is left out", async || served.database.replicas.healthy() == 1).await;
    replicas[0].start_server();
    until("the replica is used again", async || served.database.replicas.healthy() == 2).await;
    assert_eq!(readers.busy.load(Ordering::Relaxed), 0, "no read fails because of a lost replica");

    // The primary fails: reads continue.
    primary.kill();
    readers.wait_for_reads().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    readers.wait_for_reads().await;
    primary.start_server();
    assert_eq!(readers.busy.load(Ordering::Relaxed), 0, "reads do not need the primary");

    // All replicas fail: the primary answers.
    replicas.iter_mut().for_each(Cluster::kill);
    readers.wait_for_reads().await;

    // All servers fail, and the primary recovers.
    primary.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    primary.start_server();
    readers.wait_for_reads().await;
    readers.end().await;
    until("all slots are free", async || served.database.usage().free == settings.connections).await;
}

/// Replay on the replica is paused, so that it lacks the write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_sees_the_writes_of_its_server() {
    let Some(primary) = Cluster::start() else { return };
    primary.execute(BLOG);
    let replica = primary.replica();
    let settings = Settings { replicas: vec![replica.url()], ..Settings::default() };
    let served = Served::open(&primary, &settings).await;
    let query = "{ user name }";
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"name":"Ada"}"#);
    until("the replica answers", async || served.database.replicas.healthy() == 1).await;
    replica.execute("SELECT pg_wal_replay_pause()");
    until("replay pauses", async || {
        replica.query("SELECT pg_get_wal_replay_pause_state()").as_deref() == Some("paused")
    })
    .await;
    let client = served.database.writes.connect().await.unwrap();
    client.execute("UPDATE users SET name = 'Ava' WHERE id = 1").await.unwrap();
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"name":"Ada"}"#, "the replica lacks the write");
    served.database.other_servers.announce_write(&client).await;
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"name":"Ava"}"#);
    replica.execute("SELECT pg_wal_replay_resume()");
    until("the replica answers again", async || served.database.replicas.choose(false).is_some()).await;
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"name":"Ava"}"#);
}
