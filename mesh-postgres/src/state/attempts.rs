//! Login attempts, counted by all servers together. `SPEC §12.6`
//!
//! Times are those of the database, because the clocks of servers differ. Rows are locked in the order of their keys, so
//! servers that count the same keys cannot deadlock.

use mesh_integrity::{BoxFuture, StoreError};

use super::{State, bytes, number};
use mesh_integrity::{AttemptKey, AttemptStore};

/// The time over which attempts are counted, in milliseconds.
const MINUTE: u64 = 60_000;
const NOW: &str = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint";

impl State {
    async fn count(&self, shares: [AttemptKey; 3]) -> Result<Option<u64>, StoreError> {
        let sql = format!(
            "INSERT INTO mesh.attempt AS a (key, step, paid_off)
             SELECT s.key, s.step, {NOW} + s.step
             FROM (VALUES ($1::bytea, $2::bigint), ($3::bytea, $4::bigint), ($5::bytea, $6::bigint)) AS s (key, step)
             ORDER BY s.key
             ON CONFLICT (key) DO UPDATE
             SET step = excluded.step, paid_off = greatest(a.paid_off + excluded.step, excluded.paid_off)
             WHERE a.paid_off <= {NOW} + {window} - excluded.step
             RETURNING key",
            window = MINUTE
        );
        let params = shares.map(|share| [bytes(&share.key), number(share.interval)]);
        let counted = self.run(&sql, params.as_flattened()).await.map_err(StoreError::new)?;
        if counted.len() == shares.len() {
            return Ok(None);
        }
        let counted: Vec<&[u8]> = counted.iter().map(|row| row.get(0)).collect();
        let (back, full): (Vec<AttemptKey>, Vec<AttemptKey>) =
            shares.into_iter().partition(|share| counted.contains(&&share.key[..]));
        self.give_back(&back).await?;
        let mut wait = 1;
        for share in full {
            let sql = format!(
                "SELECT paid_off + $2::bigint - {NOW} - {window} FROM mesh.attempt WHERE key = $1::bytea",
                window = MINUTE
            );
            let params = [bytes(&share.key), number(share.interval)];
            let rows = self.run(&sql, &params).await.map_err(StoreError::new)?;
            let left = rows.first().map_or(0, |row| row.get::<_, i64>(0));
            wait = wait.max(u64::try_from(left).unwrap_or(0));
        }
        Ok(Some(wait))
    }

    async fn give_back(&self, shares: &[AttemptKey]) -> Result<(), StoreError> {
        for share in shares {
            let sql = "UPDATE mesh.attempt SET paid_off = paid_off - $2::bigint WHERE key = $1::bytea";
            self.run(sql, &[bytes(&share.key), number(share.interval)]).await.map_err(StoreError::new)?;
        }
        Ok(())
    }
}

impl AttemptStore for State {
    fn begin(&self, shares: [AttemptKey; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            self.sweep_when_due(crate::clock::now_millis());
            self.count(shares).await
        })
    }

    fn forget(&self, shares: [AttemptKey; 3]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.give_back(&shares).await })
    }
}
