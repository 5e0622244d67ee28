//! Used nonces: the table that servers share, and the check whether a server runs alone.
//!
//! Each server records in `mesh_server` that it runs. A server that has not done so for half a minute counts as ended.
//! If it still runs, its insertions are refused while another server claims timestamps, until it records again that it
//! runs.

use mesh_backend::rows::Decoder as _;
use mesh_backend::state::{number, number_in};
use mesh_backend::transaction::{Attempts, Retry};
use mesh_integrity::{BoxFuture, Claimed, NonceRow, NonceTable, NonceUse, SessionId, StoreError};
use mesh_plan::Value;
use mysql_async::{Error, Row};

use super::State;
use crate::cells::{DriverCells, integer};
use crate::pool::PoolError;
use crate::pool::link::Link;
use crate::write::retry;

const MARK: &str = "SELECT time FROM mesh_nonce_mark";
/// Reads the mark, and locks it until the end of the transaction.
const SHARED_MARK: &str = "SELECT time FROM mesh_nonce_mark LOCK IN SHARE MODE";

/// Raises the mark unless another server runs. Insertions that have read the previous mark are complete when this
/// statement has locked the row. Columns are set from left to right.
const CLAIM: &str = "
UPDATE mesh_nonce_mark SET previous = time, time = ?
WHERE time < ? AND NOT EXISTS (
    SELECT 1 FROM mesh_server WHERE id <> ? AND seen > NOW(3) - INTERVAL 30 SECOND
)";
const PREVIOUS: &str = "SELECT previous FROM mesh_nonce_mark";
const CLAIMED: &str = "SELECT session, nonce, time, until FROM mesh_nonce WHERE time > ? AND time <= ?";

/// Removes a nonce that is no longer in use.
const EXPIRE: &str = "DELETE FROM mesh_nonce WHERE session = ? AND nonce = ? AND until <= ?";
const INSERT: &str = "INSERT IGNORE INTO mesh_nonce (session, nonce, time, until) VALUES (?, ?, ?, ?)";

impl State {
    async fn claim_up_to(&self, time: u64, fresh: bool) -> Result<Option<Claimed>, PoolError> {
        let mut link = self.pool.take(fresh).await?;
        let id = self.tables.server().into();
        let claiming = async {
            link.begin("START TRANSACTION").await?;
            let claimed = link.write(CLAIM, &[number(time), number(time), id]).await?.count > 0;
            let rows = link.query(PREVIOUS, &[]).await?;
            link.end("COMMIT").await?;
            let Some(after) = rows.first().map(|row| time_of(row, 0)).filter(|_| claimed) else {
                return Ok(None);
            };
            // This is read after the claim, which has waited for all insertions.
            let rows = link.query(CLAIMED, &[number(after), number(time)]).await?;
            Ok(Some(Claimed { after, used: rows.iter().filter_map(nonce_of).collect() }))
        };
        claiming.await.map_err(|error: Error| PoolError::Failed(error))
    }

    /// Inserts nonces. If the response to the commit is lost and this is repeated, they count as used.
    async fn insert_all(
        &self,
        nonces: &[NonceRow],
        now: u64,
        fresh: bool,
    ) -> Result<Vec<NonceUse>, PoolError> {
        let mut link = self.pool.take(fresh).await?;
        let inserting = async {
            link.begin("START TRANSACTION").await?;
            let mark = link.query(SHARED_MARK, &[]).await?.first().map_or(u64::MAX, |row| time_of(row, 0));
            let mut uses = vec![NonceUse::Unknown; nonces.len()];
            let mut order: Vec<usize> = (0..nonces.len()).collect();
            // Nonces are inserted in the order of their keys, so that servers cannot deadlock.
            order.sort_by_key(|index| nonces.get(*index).map(|row| (row.session.0, row.text.clone())));
            for index in order {
                let (Some(row), Some(used)) = (nonces.get(index), uses.get_mut(index)) else { continue };
                if row.time > mark {
                    *used = insert(&mut link, row, now).await?;
                }
            }
            link.end("COMMIT").await?;
            Ok(uses)
        };
        inserting.await.map_err(|error: Error| PoolError::Failed(error))
    }
}

/// Inserts a nonce unless it is in use.
async fn insert(link: &mut Link, row: &NonceRow, now: u64) -> Result<NonceUse, Error> {
    let (session, text) = (Value::Bytes(row.session.0.to_vec()), Value::from(&*row.text));
    link.write(EXPIRE, &[session.clone(), text.clone(), number(now)]).await?;
    let inserted = link.write(INSERT, &[session, text, number(row.time), number(row.until)]).await?;
    Ok(if inserted.count > 0 { NonceUse::New } else { NonceUse::Used })
}

fn nonce_of(row: &Row) -> Option<NonceRow> {
    let mut cells = DriverCells::values(row).into_iter();
    let mut bytes = |_| match cells.next()? {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    };
    let session = SessionId(bytes(0)?.as_slice().try_into().ok()?);
    let text = String::from_utf8(bytes(1)?).ok()?;
    Some(NonceRow { session, text: text.into(), time: time_of(row, 2), until: time_of(row, 3) })
}

impl NonceTable for State {
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let rows = self.tables.run(MARK, &[]).await?;
            Ok(rows.first().map_or(u64::MAX, |row| number_in(row, 0)))
        })
    }

    fn claim(&self, time: u64, _: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(async move {
            let mut tries = 1;
            loop {
                match self.claim_up_to(time, tries > 1).await {
                    Err(PoolError::Failed(error))
                        if tries < Attempts::MAX && retry(&error) != Retry::Never =>
                    {
                        tries += 1
                    }
                    done => return done.map_err(StoreError::new),
                }
            }
        })
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        Box::pin(async move {
            self.tables.sweep_if_due(now);
            let mut tries = 1;
            loop {
                match self.insert_all(&nonces, now, tries > 1).await {
                    Err(PoolError::Failed(error))
                        if tries < Attempts::MAX && retry(&error) != Retry::Never =>
                    {
                        tries += 1
                    }
                    done => return done.map_err(StoreError::new),
                }
            }
        })
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}

fn time_of(row: &Row, index: usize) -> u64 {
    integer(row, index).and_then(|time| u64::try_from(time).ok()).unwrap_or_default()
}
