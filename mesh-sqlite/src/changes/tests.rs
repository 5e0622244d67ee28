//! Every write is noticed, in every journal mode.

use std::time::Duration;

use futures_util::StreamExt as _;
use mesh_plan::Change;

use super::*;
use crate::Backend as _;
use crate::tests::File;

/// How long a test waits for a notice on a busy machine.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);

fn file(journal: &str) -> File {
    File::new(&format!("PRAGMA journal_mode = {journal}; CREATE TABLE t (id INTEGER PRIMARY KEY)"))
}

#[tokio::test]
async fn writes_of_other_connections_are_reported() {
    for journal in ["WAL", "DELETE"] {
        let file = file(journal);
        let changes = Changes::new();
        let watching = tokio::spawn(file.database().watch(changes.clone()));
        // There are no listeners yet.
        file.write("INSERT INTO t VALUES (1)");
        let mut listener = changes.listen();
        let first = tokio::time::timeout(CHANGE_TIMEOUT, listener.next()).await;
        assert_eq!(
            first.unwrap(),
            Some(Change::anything()),
            "{journal}: what was written before is not lost"
        );
        for id in 2..5 {
            file.write(&format!("INSERT INTO t VALUES ({id})"));
            let change = tokio::time::timeout(CHANGE_TIMEOUT, listener.next()).await;
            assert_eq!(change.unwrap(), Some(Change::anything()), "{journal}");
        }
        let silent = tokio::time::timeout(Duration::from_millis(500), listener.next()).await;
        assert!(silent.is_err(), "{journal}: nothing was written");
        watching.abort();
    }
}

#[tokio::test]
async fn a_locked_file_is_checked_again() {
    let file = file("DELETE");
    let changes = Changes::new();
    let watching = tokio::spawn(file.database().watch(changes.clone()));
    let mut listener = changes.listen();
    let writer = file.connect();
    writer.execute_batch("BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)").unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(500), listener.next()).await;
    assert!(silent.is_err(), "nothing is committed yet");
    writer.execute_batch("COMMIT").unwrap();
    let change = tokio::time::timeout(CHANGE_TIMEOUT, listener.next()).await;
    assert_eq!(change.unwrap(), Some(Change::anything()));
    watching.abort();
}
