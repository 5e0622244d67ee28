//! Databases that accept no more connections.

use std::time::Duration;

use futures_util::future::join_all;
use mesh_backend::pool::Servers as _;
use mesh_integrity::{AccountSource as _, AccountsUnavailable, UsersTable};
use mesh_plan::{Error, ResolveError};

use super::{BLOG, Cluster, Served, until};
use crate::pool::connection::Connection;
use crate::{Accounts, Backend as _, Database, Settings};

const COUNT: &str = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
const MOST: usize = 10;

/// Starts a cluster that accepts few connections.
fn small() -> Option<Cluster> {
    let cluster = Cluster::start_with(&[&format!("max_connections = {MOST}")])?;
    cluster.execute(BLOG);
    Some(cluster)
}

async fn accounts(database: &Database) -> Accounts {
    let users = UsersTable {
        table: "users".to_owned(),
        id: "id".to_owned(),
        login: "email".to_owned(),
        password: "name".to_owned(),
        role: None,
        tenant: None,
    };
    database.accounts(&users).await.unwrap()
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
async fn reads_and_logins_wait_for_connections_when_the_database_has_no_room_for_more() {
    let Some(cluster) = small() else { return };
    // No read shares a connection.
    let settings = Settings { statements: 0, wait: Duration::from_secs(60), ..Settings::default() };
    let served = Served::open(&cluster, &settings).await;
    let accounts = accounts(&served.database).await;
    let others = fill(&served.database).await;
    for _ in 0..10 {
        let (reads, logins) = tokio::join!(
            join_all((0..40).map(|_| served.point("1", "{ post title }"))),
            join_all((0..20).map(|_| accounts.find("ada@example.org"))),
        );
        for read in reads {
            assert_eq!(read.unwrap(), r#"{"title":"Dawn"}"#);
        }
        for login in logins {
            assert_eq!(login.unwrap().unwrap().id, "1");
        }
    }
    drop(others);
}

#[tokio::test]
async fn a_database_without_room_is_unavailable() {
    let Some(cluster) = small() else { return };
    let settings = Settings { wait: Duration::from_millis(100), ..Settings::default() };
    let served = Served::open(&cluster, &settings).await;
    let accounts = accounts(&served.database).await;
    // The idle connection is in use, and the database accepts no other one.
    let taken = served.database.pool.take(false).await.unwrap();
    let others = fill(&served.database).await;
    let read = served.point("1", "{ post title }").await.unwrap_err();
    assert!(matches!(read, Error::Resolve(ResolveError::Busy)), "{read:?}");
    let login = accounts.find("ada@example.org").await.unwrap_err();
    assert!(login.is::<AccountsUnavailable>(), "{login:?}");
    drop((taken, others));
    until("the connections are closed", async || {
        cluster.query(COUNT).and_then(|count| count.parse().ok()).is_some_and(|count: usize| count < MOST)
    })
    .await;
    assert_eq!(served.point("1", "{ post title }").await.unwrap(), r#"{"title":"Dawn"}"#);
}
