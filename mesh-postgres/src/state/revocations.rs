//! Revoked sessions. `SPEC §7.5`

use mesh_backend::state::number;
use mesh_backend::tables::Tables as _;
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use mesh_plan::Value;
use mesh_plan::backend::Either;

use super::State;

const IS_REVOKED: &str = "SELECT 1 FROM mesh.revocation WHERE session = $1::bytea";

/// Stores a revocation. Servers of earlier versions keep revoked sessions in memory and are notified.
const REVOKE: &str = "
WITH revoked AS (
    INSERT INTO mesh.revocation AS r (session, until) VALUES ($1::bytea, $2::bigint)
    ON CONFLICT (session) DO UPDATE SET until = greatest(r.until, excluded.until) RETURNING r.until
)
SELECT pg_notify('mesh_announcements', 'revoked ' || encode($1::bytea, 'hex') || ' ' || until::text || ' 0') FROM revoked";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        Either::Right(Box::pin(async move {
            let session = [Value::Bytes(session.0.to_vec())];
            let rows = self.lookups.read(IS_REVOKED, &session).await.map_err(StoreError::new)?;
            Ok(!rows.is_empty())
        }))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            self.tables.sweep_if_due(now);
            self.tables.run(REVOKE, &[Value::Bytes(session.0.to_vec()), number(expires_at)]).await.map(drop)
        }))
    }
}
