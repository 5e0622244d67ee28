//! Writes, their change notices, and state that several servers share.

use std::time::Duration;

use futures_util::StreamExt as _;
use mesh_integrity::{NonceRow, NonceTable, NonceUse, RevocationStore, SessionId};
use mesh_plan::persisted::{PersistedQuery, QueryStore};
use mesh_plan::{Change, Changes};
use mesh_ql::Format;

use super::{BLOG, Cluster, PATIENCE, Served};
use crate::state;
use crate::{Backend as _, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_share_their_state() {
    let Some(cluster) = Cluster::start() else { return };
    let one = Served::open(&cluster, &Settings::default()).await;
    let other = Served::open(&cluster, &Settings { pooler: true, ..Settings::default() }).await;
    let (one, other) = tokio::join!(state::open(&one.database, 2), state::open(&other.database, 2));
    let (one, other) = (one.unwrap(), other.unwrap());
    // The account has the same name as the schema of the state, which must not come first in the search path.
    cluster.execute("CREATE TABLE public.query (id integer PRIMARY KEY, words text)");
    let again = Served::open(&cluster, &Settings::default()).await;
    assert!(again.collection("{ query words }").await.unwrap().starts_with(r#"{"items":[]"#));

    let session = SessionId([7; 16]);
    assert!(!other.is_revoked(session, 0).await.unwrap());
    one.revoke(session, 1_000, 0).await.unwrap();
    assert!(other.is_revoked(session, 0).await.unwrap());

    let nonce = |until| vec![NonceRow { session, text: "n".into(), time: 1, until }];
    let mut new = 0;
    for _ in 0..4 {
        let (a, b) = tokio::join!(one.insert(nonce(100), 0), other.insert(nonce(100), 0));
        new += [a.unwrap(), b.unwrap()].concat().iter().filter(|used| **used == NonceUse::New).count();
    }
    assert_eq!(new, 1, "a nonce is new once");
    assert_eq!(one.insert(nonce(300), 200).await.unwrap(), [NonceUse::New], "and again after it has expired");

    let queries: Vec<_> =
        ["{ a b }", "{ c d }", "{ e \"'\u{e9} }"].map(|text| PersistedQuery::new(Format::Ql, text)).into();
    for query in &queries {
        one.save(query).await.unwrap();
        one.save(query).await.unwrap();
    }
    assert!(other.find(queries[0].id()).await.unwrap().is_none(), "the oldest is deleted");
    let found = other.find(queries[2].id()).await.unwrap().unwrap();
    assert_eq!((found.text(), found.format()), (queries[2].text(), Format::Ql));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_are_notified_with_and_without_triggers() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Served::open(&cluster, &Settings::default()).await;
    let changes = Changes::new();
    let mut listener = changes.listen();
    let watching = tokio::spawn(served.database.watch(changes.clone()));
    tokio::time::sleep(Duration::from_millis(600)).await;
    while listener.try_next().is_some() {}
    cluster.execute("UPDATE posts SET likes = 6 WHERE id = 1");
    let change = tokio::time::timeout(PATIENCE, listener.next()).await;
    assert_eq!(change.ok(), Some(Some(Change::anything())));
    watching.abort();

    served.database.triggers(served.mesh.schema(), true).await.unwrap();
    served.database.triggers(served.mesh.schema(), true).await.unwrap();
    let changes = Changes::new();
    let mut listener = changes.listen();
    let watching = tokio::spawn(served.database.watch(changes.clone()));
    // Earlier writes are unknown. The feed listens.
    assert_eq!(listener.next().await, Some(Change::anything()));
    cluster.execute("UPDATE posts SET likes = 7 WHERE id = 1; DELETE FROM comments WHERE id = 3; INSERT INTO post_tags VALUES (3, 1); TRUNCATE comments");
    let mut missing = vec![
        Change::record("post", "1"),
        Change::record("comment", "3"),
        Change::entity("comment"),
        Change::entity("postTag"),
    ];
    while !missing.is_empty() {
        match tokio::time::timeout(PATIENCE, listener.next()).await {
            Ok(change) => missing.retain(|expected| Some(expected) != change.as_ref()),
            Err(_) => panic!("not notified of {missing:?}"),
        }
    }

    // A lost connection is opened again and counts as a change of anything.
    cluster.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE (query LIKE '%txid_current_snapshot%' OR query LIKE '%pg_trigger%') AND pid <> pg_backend_pid()");
    let change = tokio::time::timeout(PATIENCE, listener.next()).await;
    assert_eq!(change.ok(), Some(Some(Change::anything())));
    watching.abort();
}
