//! State that several servers share, and change notices.

use std::time::SystemTime;

use mesh_integrity::{NonceRow, NonceTable, NonceUse, RevocationStore, SessionId, unix_millis};
use mesh_plan::persisted::{PersistedQuery, QueryStore};
use mesh_plan::{Change, Changes};
use mesh_ql::Format;
use mesh_tests::MariaDb;

use super::{BLOG, Served, until};
use crate::state;
use crate::{Backend as _, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_share_their_state() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let one = Served::open(&server, &Settings::default()).await;
    let other = Served::open(&server, &Settings::default()).await;
    let (one, other) = tokio::join!(state::open(&one.database, 2), state::open(&other.database, 2));
    let (one, other) = (one.unwrap(), other.unwrap());
    let again = Served::open(&server, &Settings::default()).await;
    let served = again.mesh.schema();
    assert!(
        served.entities().all(|(_, entity)| !entity.table.name.starts_with("mesh_")),
        "its tables are not served"
    );

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
    assert!(one.claim(5, 0).await.unwrap().is_none(), "another server uses the table");
    assert_eq!(one.mark().await.unwrap(), 0);

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
async fn a_write_of_another_program_is_a_change_of_anything() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let changes = Changes::new();
    let mut listener = changes.listen();
    let watching = tokio::spawn(served.database.watch(changes.clone()));
    // The tables were created in the second of the first readings.
    let created = unix_millis(SystemTime::now()) / 1_000;
    until("the second has passed", async || unix_millis(SystemTime::now()) / 1_000 > created + 1).await;
    while listener.try_next().is_some() {}
    server.execute("UPDATE posts SET likes = 6 WHERE id = 1");
    let notified = std::cell::Cell::new(None);
    let listener = std::cell::RefCell::new(listener);
    until("the change is noticed", async || {
        notified.set(listener.borrow_mut().try_next());
        notified.take() == Some(Change::anything())
    })
    .await;
    watching.abort();
}
