//! Every write is noticed, in every journal mode.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use futures_util::StreamExt as _;
use rusqlite::Connection;

use super::*;

struct File(PathBuf);

impl File {
    fn new(journal: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-changes-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = Self(folder.join("data.db"));
        file.write(&format!("PRAGMA journal_mode = {journal}; CREATE TABLE t (id INTEGER PRIMARY KEY)"));
        file
    }

    fn write(&self, sql: &str) {
        Connection::open(&self.0).unwrap().execute_batch(sql).unwrap();
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

#[tokio::test]
async fn writes_of_other_connections_are_reported_within_a_second() {
    for journal in ["WAL", "DELETE"] {
        let file = File::new(journal);
        let changes = Changes::new();
        let watching = tokio::spawn(Database::open(&file.0).unwrap().watch(changes.clone()));
        // There are no listeners yet.
        file.write("INSERT INTO t VALUES (1)");
        let mut listener = changes.listen();
        let first = tokio::time::timeout(Duration::from_secs(1), listener.next()).await;
        assert_eq!(
            first.unwrap(),
            Some(Change::anything()),
            "{journal}: what was written before is not lost"
        );
        for id in 2..5 {
            let start = Instant::now();
            file.write(&format!("INSERT INTO t VALUES ({id})"));
            assert_eq!(listener.next().await, Some(Change::anything()));
            assert!(start.elapsed() < Duration::from_secs(1), "{journal}: {:?}", start.elapsed());
        }
        let silent = tokio::time::timeout(Duration::from_millis(500), listener.next()).await;
        assert!(silent.is_err(), "{journal}: nothing was written");
        watching.abort();
    }
}

#[tokio::test]
async fn a_locked_file_is_checked_again() {
    let file = File::new("DELETE");
    let changes = Changes::new();
    let watching = tokio::spawn(Database::open(&file.0).unwrap().watch(changes.clone()));
    let mut listener = changes.listen();
    let writer = Connection::open(&file.0).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)").unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(500), listener.next()).await;
    assert!(silent.is_err(), "nothing is committed yet");
    writer.execute_batch("COMMIT").unwrap();
    let change = tokio::time::timeout(Duration::from_secs(1), listener.next()).await;
    assert_eq!(change.unwrap(), Some(Change::anything()));
    watching.abort();
}
