//! Used nonces: the table that servers share, and the check whether a server runs alone.
//!
//! Each server records in a table that it runs. A server that has not done so for half a minute counts as ended. If it still
//! runs, its insertions are refused while another server claims timestamps, until it records again that it runs.

use mesh_integrity::{BoxFuture, Claimed, NonceRow, NonceTable, NonceUse, SessionId, StoreError};
use mesh_plan::Value;

use super::{State, bind, number, number_in};
use crate::tables::text;

impl State {
    async fn claim_up_to(&self, time: u64) -> Result<Option<Claimed>, StoreError> {
        let statements = self.0.statements;
        let values = [number(time), self.0.server.as_str().into()];
        let ran = self.transact(&bind(statements.claim, &values)).await?;
        let previous = ran.last().and_then(|previous| previous.rows.first());
        let Some(previous) = previous.filter(|_| ran.first().is_some_and(|raised| raised.count > 0)) else {
            return Ok(None);
        };
        let after = number_in(previous, 0);
        // A separate statement sees the insertions that the claim has waited for.
        let rows = self.run(statements.claimed, &[number(after), number(time)]).await?;
        Ok(Some(Claimed { after, used: rows.iter().filter_map(|row| nonce_in(row)).collect() }))
    }

    /// Inserts nonces in the order of their keys, so that servers cannot deadlock. If the response to the commit is lost and
    /// this is repeated, they count as used.
    async fn insert_all(&self, nonces: &[NonceRow], now: u64) -> Result<Vec<NonceUse>, StoreError> {
        let operation = self.0.statements.insert_nonce;
        let mut sorted: Vec<(usize, &NonceRow)> = nonces.iter().enumerate().collect();
        sorted.sort_by_key(|(_, row)| (row.session.0, &row.text));
        let mut statements = vec![(self.0.statements.lock_mark, Vec::new())];
        for (_, row) in &sorted {
            let session = Value::Bytes(row.session.0.to_vec());
            let values = [session, (&*row.text).into(), number(row.time), number(row.until), number(now)];
            statements.extend(bind(operation, &values));
        }
        let ran = self.transact(&statements).await?;
        let Some((locked, inserted)) = ran.split_first() else { return Ok(Vec::new()) };
        let mark = locked.rows.first().map_or(u64::MAX, |row| number_in(row, 0));
        let mut uses = vec![NonceUse::Unknown; nonces.len()];
        for ((index, row), ran) in sorted.into_iter().zip(inserted.chunks(operation.len())) {
            if let Some(used) = uses.get_mut(index).filter(|_| row.time > mark) {
                let is_new = ran.last().is_some_and(|inserted| inserted.count > 0);
                *used = if is_new { NonceUse::New } else { NonceUse::Used };
            }
        }
        Ok(uses)
    }
}

/// Returns the nonce in a row.
fn nonce_in(row: &[Value]) -> Option<NonceRow> {
    let Some(Value::Bytes(session)) = row.first() else { return None };
    let session = SessionId(session.as_slice().try_into().ok()?);
    let (text, time, until) = (text(row, 1)?.into(), number_in(row, 2), number_in(row, 3));
    Some(NonceRow { session, text, time, until })
}

impl NonceTable for State {
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let rows = self.run(self.0.statements.mark, &[]).await?;
            Ok(rows.first().map_or(u64::MAX, |row| number_in(row, 0)))
        })
    }

    fn claim(&self, time: u64, _: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>> {
        Box::pin(self.claim_up_to(time))
    }

    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>> {
        self.sweep_if_due(now);
        Box::pin(async move { self.insert_all(&nonces, now).await })
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}
