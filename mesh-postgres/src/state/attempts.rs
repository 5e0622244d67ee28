//! Login attempts, counted by all servers together. `SPEC §12.6`
//!
//! Times come from the database, because the clocks of servers differ. Rows are locked in the order of their keys, so
//! servers that count the same keys cannot deadlock.

use std::time::SystemTime;

use mesh_backend::state::{number, number_in};
use mesh_integrity::{AttemptKey, AttemptStore, BoxFuture, StoreError, unix_millis};
use mesh_plan::Value;

use super::State;

/// Counts an attempt for each key whose attempts of the last 60,000 ms leave room for one more, and returns those keys.
const COUNT: &str = "
INSERT INTO mesh.attempt AS a (key, step, paid_off)
SELECT s.key, s.step, (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint + s.step
FROM (VALUES ($1::bytea, $2::bigint), ($3::bytea, $4::bigint), ($5::bytea, $6::bigint)) AS s (key, step)
ORDER BY s.key
ON CONFLICT (key) DO UPDATE
SET step = excluded.step, paid_off = greatest(a.paid_off + excluded.step, excluded.paid_off)
WHERE a.paid_off <= (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint + 60000 - excluded.step
RETURNING key";

/// Returns the milliseconds until an attempt for a key is possible.
const WAIT: &str = "
SELECT paid_off + $2::bigint - (extract(epoch FROM statement_timestamp()) * 1000::numeric)::bigint - 60000
FROM mesh.attempt WHERE key = $1::bytea";

const UNDO: &str = "UPDATE mesh.attempt SET paid_off = paid_off - $2::bigint WHERE key = $1::bytea";

fn params(key: &AttemptKey) -> [Value; 2] {
    [Value::Bytes(key.key.to_vec()), number(key.interval)]
}

impl State {
    async fn undo(&self, keys: &[AttemptKey]) -> Result<(), StoreError> {
        for key in keys {
            self.tables.run(UNDO, &params(key)).await?;
        }
        Ok(())
    }
}

impl AttemptStore for State {
    fn begin(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            self.tables.sweep_if_due(unix_millis(SystemTime::now()));
            let counted = self.tables.run(COUNT, keys.each_ref().map(params).as_flattened()).await?;
            if counted.len() == keys.len() {
                return Ok(None);
            }
            let (counted, full): (Vec<_>, Vec<_>) =
                keys.into_iter().partition(|key| counted.contains(&vec![Value::Bytes(key.key.to_vec())]));
            self.undo(&counted).await?;
            let mut wait: u64 = 1;
            for key in full {
                let rows = self.tables.run(WAIT, &params(&key)).await?;
                wait = wait.max(rows.first().map_or(0, |row| number_in(row, 0)));
            }
            Ok(Some(wait))
        })
    }

    fn forget(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.undo(&keys).await })
    }
}
