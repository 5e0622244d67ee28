//! Used nonces: the table that servers share, and the check whether a server runs alone.
//!
//! Each server records in `mesh.server` that it runs. A server that has not done so for half a minute counts as ended.
//! If it still runs, its insertions are refused while another server claims timestamps, until it records again that it
//! runs.

use mesh_backend::state::{number, number_in};
use mesh_backend::tables::Cells;
use mesh_integrity::{BoxFuture, Claimed, NonceRow, NonceTable, NonceUse, SessionId, StoreError};
use mesh_plan::Value;

use super::State;

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

impl State {
    async fn claim_up_to(&self, time: u64) -> Result<Option<Claimed>, StoreError> {
        let params = [number(time), self.tables.server().into()];
        let rows = self.tables.run(CLAIM, &params).await?;
        let Some(after) = rows.first().map(|row| number_in(row, 0)) else { return Ok(None) };
        // A separate statement sees the insertions that the claim has waited for.
        let rows = self.tables.run(CLAIMED, &[number(after), number(time)]).await?;
        let used = rows.iter().filter_map(|row| {
            let (session, text) = nonce_in(row, 0)?;
            let (session, text) = (SessionId(session.try_into().ok()?), text.into());
            Some(NonceRow { session, text, time: number_in(row, 2), until: number_in(row, 3) })
        });
        Ok(Some(Claimed { after, used: used.collect() }))
    }

    async fn insert_all(&self, nonces: &[NonceRow], now: u64) -> Result<Vec<NonceUse>, StoreError> {
        let array = |value: &dyn Fn(&NonceRow) -> String| {
            let values: Vec<String> = nonces.iter().map(value).collect();
            Value::Text(format!("{{{}}}", values.join(",")))
        };
        let params = [
            array(&|row| row.session.to_string()),
            // Base64url needs no quotes.
            array(&|row| row.text.to_string()),
            array(&|row| row.time.to_string()),
            array(&|row| row.until.to_string()),
            number(now),
        ];
        let rows = self.tables.run(INSERT, &params).await?;
        let mark = rows.first().map_or(u64::MAX, |row| number_in(row, 0));
        let mut stored: Vec<(&[u8], &str)> = rows.iter().filter_map(|row| nonce_in(row, 1)).collect();
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
            let rows = self.tables.run(MARK, &[]).await?;
            Ok(rows.first().map_or(u64::MAX, |row| number_in(row, 0)))
        })
    }

    fn claim(&self, time: u64, _: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(self.claim_up_to(time))
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        Box::pin(async move {
            self.tables.sweep_if_due(now);
            self.insert_all(&nonces, now).await
        })
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}

/// Returns the session and the text of the nonce in the cells from an index on.
fn nonce_in(row: &Cells, index: usize) -> Option<(&[u8], &str)> {
    match row.get(index..)? {
        [Value::Bytes(session), Value::Text(text), ..] => Some((session, text)),
        _ => None,
    }
}
