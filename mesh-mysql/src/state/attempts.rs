//! Login attempts, counted by all servers together. `SPEC §12.6`
//!
//! Times come from the database, because the clocks of servers differ. Rows are locked in the order of their keys, so
//! servers that count the same keys cannot deadlock.

use std::time::SystemTime;

use mesh_backend::state::number;
use mesh_backend::transaction::{Attempts, Retry};
use mesh_integrity::{AttemptKey, AttemptStore, BoxFuture, StoreError, unix_millis};
use mesh_plan::Value;
use mysql_async::Error;

use super::State;
use crate::cells::integer;
use crate::pool::PoolError;
use crate::write::retry;

/// Creates the row of a key, or locks it for the update that follows. `INSERT IGNORE` would lock it for reading, and
/// two servers that both do so cannot update it.
const CREATE: &str = "
INSERT INTO mesh_attempt (id, step, paid_off) VALUES (?, ?, 0) ON DUPLICATE KEY UPDATE step = VALUES(step)";

/// Counts an attempt if those of the last 60,000 ms leave room for one more. Columns are set from left to right.
const COUNT: &str = "
UPDATE mesh_attempt SET step = ?,
    paid_off = GREATEST(paid_off + ?, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) + ?)
WHERE id = ? AND paid_off <= CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) + 60000 - ?";

/// Returns the milliseconds until an attempt for a key is possible.
const WAIT: &str = "
SELECT paid_off + ? - CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) - 60000 FROM mesh_attempt WHERE id = ?";

const UNDO: &str = "UPDATE mesh_attempt SET paid_off = paid_off - ? WHERE id = ?";

impl State {
    /// Counts an attempt for all keys or for none. If an attempt is not possible, returns the time until it is.
    async fn count(&self, keys: &[AttemptKey; 3], fresh: bool) -> Result<Option<u64>, PoolError> {
        let mut link = self.pool.take(fresh).await?;
        let counting = async {
            link.begin("START TRANSACTION").await?;
            let mut wait: Option<u64> = None;
            for key in keys {
                let (id, step) = (Value::Bytes(key.key.to_vec()), number(key.interval));
                link.write(CREATE, &[id.clone(), step.clone()]).await?;
                let params = [step.clone(), step.clone(), step.clone(), id.clone(), step.clone()];
                if link.write(COUNT, &params).await?.count == 0 {
                    let rows = link.query(WAIT, &[step, id]).await?;
                    let left = rows.first().and_then(|row| integer(row, 0)).map_or(1, |left| left.max(1));
                    wait = wait.max(Some(left.unsigned_abs()));
                }
            }
            link.end(if wait.is_some() { "ROLLBACK" } else { "COMMIT" }).await?;
            Ok(wait)
        };
        counting.await.map_err(|error: Error| PoolError::Failed(error))
    }
}

impl AttemptStore for State {
    fn begin(&self, mut keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            self.tables.sweep_if_due(unix_millis(SystemTime::now()));
            keys.sort_by_key(|key| key.key);
            let mut tries = 1;
            loop {
                match self.count(&keys, tries > 1).await {
                    Err(PoolError::Failed(error))
                        if tries < Attempts::MAX && retry(&error) != Retry::Never =>
                    {
                        tries += 1
                    }
                    counted => return counted.map_err(StoreError::new),
                }
            }
        })
    }

    fn forget(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            for key in keys {
                self.tables.run(UNDO, &[number(key.interval), Value::Bytes(key.key.to_vec())]).await?;
            }
            Ok(())
        })
    }
}
