//! The bound of the write-ahead log.
//!
//! SQLite restarts the log when no snapshot needs it. Slow reads that overlap all the time leave no such moment, so the
//! log grows with every write. When the log is long, new slow reads therefore wait until the running ones have ended,
//! and the log is emptied in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::connection::WriteConnection;
use crate::database::current_file::CurrentFile;
use crate::file::beside;

/// The length of the log in bytes at which it is emptied, and by which it grows until the next attempt if another process
/// keeps a snapshot.
const GROWTH_BOUND: u64 = 64 << 20;
/// The number of transactions between checks of the length, each of which is a system call.
const TRANSACTIONS_PER_CHECK: u32 = 16;

/// The bound of the log of a database.
pub(super) struct LogBound {
    database: PathBuf,
    file: Arc<CurrentFile>,
    /// The length at which the log is emptied.
    next: u64,
    /// The number of transactions so far.
    transactions: u32,
    /// The task that empties the log.
    emptying: Option<JoinHandle<()>>,
}

impl LogBound {
    pub(super) fn new(database: &Path, file: Arc<CurrentFile>) -> Self {
        let database = database.to_owned();
        Self { database, file, next: GROWTH_BOUND, transactions: 0, emptying: None }
    }

    /// Counts a transaction. If the log is long, starts a task that empties it.
    pub(super) fn check(&mut self, connection: &Arc<Mutex<WriteConnection>>, runtime: &Handle) {
        self.transactions = self.transactions.wrapping_add(1);
        if !self.transactions.is_multiple_of(TRANSACTIONS_PER_CHECK) {
            return;
        }
        let length = std::fs::metadata(beside(&self.database, "-wal")).map_or(0, |file| file.len());
        if self.emptying.take_if(|emptying| emptying.is_finished()).is_some() {
            self.next = length.saturating_add(GROWTH_BOUND);
        }
        if length >= self.next && self.emptying.is_none() {
            let emptying = empty_between_slow_reads(Arc::clone(&self.file), Arc::clone(connection));
            self.emptying = Some(runtime.spawn(emptying));
        }
    }
}

/// Empties the log when no slow read runs.
async fn empty_between_slow_reads(file: Arc<CurrentFile>, connection: Arc<Mutex<WriteConnection>>) {
    let slow_reads = Arc::clone(&file.last().pool.slow_reads);
    let pause = slow_reads.pause().await;
    // The thread keeps the pause even if this task ends with the server.
    let emptying = tokio::task::spawn_blocking(move || {
        connection.lock().empty_log();
        drop(pause);
    });
    if emptying.await.is_ok() {
        tracing::debug!("the write-ahead log was emptied between slow reads");
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use futures_util::FutureExt as _;

    use super::*;
    use crate::Backend as _;
    use crate::tests::File;

    /// Changes all rows of a table.
    const WRITE: &str = "UPDATE t SET n = n + 1";

    #[tokio::test]
    async fn slow_reads_that_overlap_leave_a_gap_in_which_a_long_log_is_emptied() {
        let file = File::new(
            "PRAGMA journal_mode = wal; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
             WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10000) INSERT INTO t SELECT i, 0 FROM c",
        );
        let database = file.database();
        let writer = database.writer().unwrap();
        let slow_reads = &database.file.last().pool.slow_reads;
        let in_a_minute = Instant::now() + Duration::from_secs(60);
        let first = slow_reads.take(in_a_minute).await.unwrap();
        let snapshot = file.connect();
        snapshot.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        for _ in 0..5 {
            writer.connection.lock().reader.connection.execute_batch(WRITE).unwrap();
        }
        let length = || std::fs::metadata(beside(&file.path(), "-wal")).unwrap().len();
        let long = length();
        assert!(long > 300_000, "{long}");
        tokio::spawn(empty_between_slow_reads(Arc::clone(&database.file), Arc::clone(&writer.connection)));
        while database.usage().free > 0 {
            tokio::task::yield_now().await;
        }
        let second = slow_reads.take(in_a_minute);
        tokio::pin!(second);
        assert!((&mut second).now_or_never().is_none(), "it waits for the first");
        assert_eq!(length(), long, "the first needs the log");
        writer.connection.lock().reader.connection.execute_batch(WRITE).expect("writes do not wait");
        snapshot.execute_batch("COMMIT").unwrap();
        drop(first);
        let _second = second.await.unwrap();
        assert_eq!(length(), 0);
        assert_eq!(
            snapshot.query_row("SELECT sum(n) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(),
            60_000
        );
    }
}
