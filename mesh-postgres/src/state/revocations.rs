//! Revoked sessions. `SPEC §7.5`
//!
//! All servers are notified of each revocation. A server answers from memory while it receives messages, else from the
//! table.

use std::borrow::Cow;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::Either;
use mesh_backend::state::{number, number_in};
use mesh_backend::tables::{Cells, Tables as _};
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use mesh_plan::Value;

use crate::other_servers::{COUNT_OTHERS, OtherServers};
use crate::tables::PrimaryTables;

pub(super) const IS_REVOKED: &str = "SELECT 1 FROM mesh.revocation WHERE session = $1::bytea";

/// Stores a revocation and announces it to the other servers.
pub(super) const REVOKE: &str = "
WITH revoked AS (
    INSERT INTO mesh.revocation AS r (session, until) VALUES ($1::bytea, $2::bigint)
    ON CONFLICT (session) DO UPDATE SET until = greatest(r.until, excluded.until) RETURNING r.until
)
SELECT pg_notify(
    'mesh_announcements', 'revoked ' || encode($1::bytea, 'hex') || ' ' || until::text || ' ' || $3::text
) FROM revoked";

/// Revocations in the table, which are announced to the other servers.
pub(super) struct AnnouncedRevocations {
    pub(super) tables: PrimaryTables,
    pub(super) other_servers: Arc<OtherServers>,
}

impl AnnouncedRevocations {
    async fn run(&self, sql: &str, params: &[Value]) -> Result<Vec<Cells>, StoreError> {
        self.tables.read(sql, params).await.map_err(StoreError::new)
    }

    async fn store_revocation(&self, session: SessionId, until: u64) -> Result<(), StoreError> {
        let announcement = self.other_servers.announce();
        let params = [Value::Bytes(session.0.to_vec()), number(until), announcement.token.as_str().into()];
        self.run(REVOKE, &params).await?;
        self.other_servers.revoked.insert(session, until);
        // A server that is not counted here starts listening later, and then reads the table.
        let process = self.other_servers.process().0.map(Cow::into_owned);
        let rows = self.run(COUNT_OTHERS, &[process.into()]).await?;
        let others = rows.first().map_or(0, |row| number_in(row, 0));
        announcement.wait_for_acknowledgements(i64::try_from(others).unwrap_or(i64::MAX)).await;
        Ok(())
    }
}

impl RevocationStore for AnnouncedRevocations {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        let revoked = self.other_servers.revoked.contains(session);
        match revoked.filter(|_| self.other_servers.has_lease()) {
            Some(revoked) => Either::Left(ready(Ok(revoked))),
            None => Either::Right(Box::pin(async move {
                Ok(!self.run(IS_REVOKED, &[Value::Bytes(session.0.to_vec())]).await?.is_empty())
            })),
        }
    }

    fn revoke(&self, session: SessionId, expires_at: u64, _: u64) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(self.store_revocation(session, expires_at)))
    }
}
