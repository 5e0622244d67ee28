//! Used nonces: the table that servers share, and the check whether a server runs alone.
//!
//! Each server records in `mesh.server` that it runs. A server that has not done so for half a minute counts as ended.
//! If it still runs, its insertions are refused while another server claims timestamps, until it records again that it
//! runs.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use mesh_integrity::{BoxFuture, Claimed, NonceRow, NonceTable, NonceUse, SessionId, StoreError};
use tokio_postgres::Row;

use super::State;
use crate::pool::PoolError;
use crate::sql::TextParam;

/// The interval at which a server records that it runs.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// Records that a server runs, and deletes the records of servers that ended long ago.
const HEARTBEAT: &str = "
WITH ended AS (DELETE FROM mesh.server WHERE seen < clock_timestamp() - interval '1 day')
INSERT INTO mesh.server (id, seen) VALUES ($1::text, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()";
const MARK: &str = "SELECT time FROM mesh.nonce_mark";

/// Raises the mark unless another server runs, and returns the previous mark. Insertions that have read the previous
/// mark are complete when this statement has locked the row.
const CLAIM: &str = "
UPDATE mesh.nonce_mark SET time = $1::bigint, previous = time
WHERE time < $1::bigint AND shared_until <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM mesh.server WHERE id <> $2::text AND seen > clock_timestamp() - interval '30 seconds'
)
RETURNING previous";
const CLAIMED: &str = "
SELECT session, nonce, time, until FROM mesh.nonce WHERE time > $1::bigint AND time <= $2::bigint";

/// Stores nonces that are not in use and whose timestamps are not claimed. Of two servers that store the same nonce at
/// the same time, one gets no row. Nonces are stored in the order of their keys, so servers cannot deadlock.
const INSERT: &str = "
WITH mark AS (SELECT time FROM mesh.nonce_mark FOR SHARE),
stored AS (
    INSERT INTO mesh.nonce AS n (session, nonce, time, until)
    SELECT decode(s.session, 'hex'), s.nonce, s.time, s.until
    FROM mark, unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS s (session, nonce, time, until)
    WHERE s.time > mark.time ORDER BY 1, 2
    ON CONFLICT (session, nonce) DO UPDATE SET time = excluded.time, until = excluded.until
    WHERE n.until <= $5::bigint
    RETURNING session, nonce
)
SELECT mark.time, stored.session, stored.nonce FROM mark LEFT JOIN stored ON true";

/// The name of a server in `mesh.server`.
pub(super) struct Presence {
    id: String,
}

impl Presence {
    pub(super) fn new() -> Self {
        Self { id: format!("{:016x}", RandomState::new().hash_one("presence")) }
    }
}

impl State {
    /// Records that this server runs, and repeats this until the last clone of the state is dropped.
    pub(super) async fn start_heartbeat(&self) -> Result<(), PoolError> {
        self.rows(HEARTBEAT, &[TextParam::text(&self.presence.id)]).await?;
        let (pool, presence) = (Arc::clone(&self.pool), Arc::downgrade(&self.presence));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
                let Some(presence) = presence.upgrade() else { return };
                if let Err(error) = pool.run(HEARTBEAT, &[TextParam::text(&presence.id)]).await {
                    tracing::debug!("cannot note that this server runs: {error}");
                }
            }
        });
        Ok(())
    }

    async fn claim_up_to(&self, time: u64) -> Result<Option<Claimed>, StoreError> {
        let params = [TextParam::number(time), TextParam::text(&self.presence.id)];
        let rows = self.run(CLAIM, &params).await?;
        let Some(after) = rows.first().map(|row| time_of(row, 0)) else { return Ok(None) };
        // A separate statement sees the insertions that the claim has waited for.
        let rows = self.run(CLAIMED, &[TextParam::number(after), TextParam::number(time)]).await?;
        let used = rows.iter().filter_map(|row| {
            let session = SessionId(row.get::<_, &[u8]>(0).try_into().ok()?);
            let (time, until) = (time_of(row, 2), time_of(row, 3));
            Some(NonceRow { session, text: row.get::<_, &str>(1).into(), time, until })
        });
        Ok(Some(Claimed { after, used: used.collect() }))
    }

    async fn insert_all(&self, nonces: &[NonceRow], now: u64) -> Result<Vec<NonceUse>, StoreError> {
        let array = |value: &dyn Fn(&NonceRow) -> String| {
            let values: Vec<String> = nonces.iter().map(value).collect();
            TextParam(Some(format!("{{{}}}", values.join(",")).into()))
        };
        let params = [
            array(&|row| row.session.to_string()),
            // Base64url needs no quotes.
            array(&|row| row.text.to_string()),
            array(&|row| row.time.to_string()),
            array(&|row| row.until.to_string()),
            TextParam::number(now),
        ];
        let rows = self.run(INSERT, &params).await?;
        let mark = rows.first().map_or(u64::MAX, |row| time_of(row, 0));
        let mut stored: Vec<(&[u8], &str)> =
            rows.iter().filter_map(|row| row.get::<_, Option<&[u8]>>(1).zip(row.get(2))).collect();
        stored.sort_unstable();
        let is_stored = |row: &NonceRow| stored.binary_search(&(&row.session.0[..], &*row.text)).is_ok();
        let uses = nonces.iter().map(|row| match row.time > mark {
            false => NonceUse::Unknown,
            true if is_stored(row) => NonceUse::New,
            true => NonceUse::Used,
        });
        Ok(uses.collect())
    }
}

impl NonceTable for State {
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let rows = self.run(MARK, &[]).await?;
            Ok(rows.first().map_or(u64::MAX, |row| time_of(row, 0)))
        })
    }

    fn claim(&self, time: u64, _: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(self.claim_up_to(time))
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        Box::pin(async move {
            self.sweep_if_due(now);
            self.insert_all(&nonces, now).await
        })
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}

fn time_of(row: &Row, index: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(index)).unwrap_or(0)
}
