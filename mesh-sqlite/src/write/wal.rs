//! The bound of the write-ahead log.
//!
//! SQLite restarts the log when no snapshot needs it. Slow reads that overlap all the time leave no such moment, so the
//! log grows with every write. When the log is long, new slow reads therefore wait until the running ones have ended,
//! and the log is emptied in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::Writer;
use crate::file::beside;

/// The length of the log in bytes at which it is emptied, and by which it grows until the next attempt if another process
/// keeps a snapshot.
const GROWTH_BOUND: u64 = 64 << 20;
/// The number of writes between checks of the length, each of which is a system call.
const WRITES_PER_CHECK: u32 = 16;

/// The log of a database.
#[derive(Debug)]
pub(super) struct WriteAheadLog {
    database: PathBuf,
    /// The length at which the log is emptied.
    next: AtomicU64,
    /// The number of writes so far.
    writes: AtomicU32,
    is_emptying: AtomicBool,
}

impl WriteAheadLog {
    pub(super) fn new(database: &Path) -> Self {
        Self {
            database: database.to_owned(),
            next: AtomicU64::new(GROWTH_BOUND),
            writes: AtomicU32::new(0),
            is_emptying: AtomicBool::new(false),
        }
    }

    fn length(&self) -> u64 {
        std::fs::metadata(beside(&self.database, "-wal")).map_or(0, |file| file.len())
    }

    /// Counts a write. Returns whether the log is so long that it has to be emptied.
    pub(super) fn is_long_after_write(&self) -> bool {
        self.writes.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITES_PER_CHECK)
            && self.length() >= self.next.load(Ordering::Relaxed)
    }
}

impl Writer {
    /// Starts emptying the log, unless this is already in progress.
    pub(super) fn empty_log(&self) {
        if self.log.is_emptying.swap(true, Ordering::AcqRel) {
            return;
        }
        let (writer, slow_reads) = (self.clone(), Arc::clone(&self.file.last().pool.slow_reads));
        tokio::spawn(async move {
            let _emptying = Emptying(Arc::clone(&writer.log));
            let pause = slow_reads.pause().await;
            let (connection, log) = (Arc::clone(&writer.connection), Arc::clone(&writer.log));
            // The thread keeps the pause even if this task ends with the server.
            let _ = tokio::task::spawn_blocking(move || {
                connection.lock().empty_log();
                drop(pause);
                let length = log.length();
                log.next.store(length.saturating_add(GROWTH_BOUND), Ordering::Relaxed);
                tracing::debug!(length, "the write-ahead log was emptied between slow reads");
            })
            .await;
        });
    }
}

/// A guard that marks the log as being emptied until it is dropped.
struct Emptying(Arc<WriteAheadLog>);

impl Drop for Emptying {
    fn drop(&mut self) {
        self.0.is_emptying.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use futures_util::FutureExt as _;

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
        let long = writer.log.length();
        assert!(long > 300_000, "{long}");
        writer.empty_log();
        writer.empty_log();
        while database.usage().free > 0 {
            tokio::task::yield_now().await;
        }
        let second = slow_reads.take(in_a_minute);
        tokio::pin!(second);
        assert!((&mut second).now_or_never().is_none(), "it waits for the first");
        assert_eq!(writer.log.length(), long, "the first needs the log");
        writer.connection.lock().reader.connection.execute_batch(WRITE).expect("writes do not wait");
        snapshot.execute_batch("COMMIT").unwrap();
        drop(first);
        let _second = second.await.unwrap();
        assert_eq!(writer.log.length(), 0);
        assert_eq!(
            snapshot.query_row("SELECT sum(n) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(),
            60_000
        );
    }
}
