//! Databases that accept no more connections.

use std::time::Duration;

use mesh_backend::pool::Servers as _;
use mesh_plan::{Error, ResolveError};
use mesh_tests::MariaDb;
use tokio::task::JoinSet;

use super::{BLOG, Served, until};
use crate::pool::connection::Connection;
use crate::{Backend as _, Database, Settings};

/// Starts a server that accepts few connections of the account `app`.
fn small() -> Option<(MariaDb, String)> {
    let server = MariaDb::start()?;
    server.execute(BLOG);
    server.execute(
        "CREATE USER app@localhost WITH MAX_USER_CONNECTIONS 6; GRANT ALL ON mesh.* TO app@localhost",
    );
    let url = server.url().replace("root@", "app@");
    Some((server, url))
}

/// Takes connections until the database accepts no more.
async fn fill(database: &Database) -> Vec<Connection> {
    let mut links = Vec::new();
    while let Ok(connection) = database.writes.connect().await {
        links.push(connection);
    }
    assert!(!links.is_empty());
    links
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_wait_for_connections_when_the_database_has_no_room_for_more() {
    let Some((_server, url)) = small() else { return };
    let served = Served::open_at(&url, &Settings::default()).await;
    let others = fill(&served.database).await;
    let mut reads = JoinSet::new();
    for _ in 0..40 {
        let database = served.database.clone();
        reads.spawn(async move { database.ping().await });
    }
    for read in reads.join_all().await {
        read.unwrap();
    }
    drop(others);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_without_room_is_unavailable() {
    let Some((_server, url)) = small() else { return };
    let settings = Settings { wait: Duration::from_millis(100), ..Settings::default() };
    let served = Served::open_at(&url, &settings).await;
    // The idle connection is in use, and the database accepts no other one.
    let taken = served.database.pool.take(false).await.unwrap();
    let others = fill(&served.database).await;
    let read = served.point("1", "{ post title }").await.unwrap_err();
    assert!(matches!(read, Error::Resolve(ResolveError::Busy)), "{read:?}");
    drop((taken, others));
    until("reads are answered again", async || {
        served.point("1", "{ post title }").await.is_ok_and(|body| body == r#"{"title":"Dawn"}"#)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_without_a_free_slot_are_refused_after_the_wait() {
    let Some((_server, url)) = small() else { return };
    let settings = Settings { wait: Duration::from_millis(100), connections: 1, ..Settings::default() };
    let served = Served::open_at(&url, &settings).await;
    let taken = served.database.pool.take(false).await.unwrap();
    let read = served.point("1", "{ post title }").await.unwrap_err();
    assert!(matches!(read, Error::Resolve(ResolveError::Busy)), "{read:?}");
    assert_eq!(served.database.usage().waits, 1);
    drop(taken);
    served.point("1", "{ post title }").await.unwrap();
}
