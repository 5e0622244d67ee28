//! Revoked sessions, which are looked up in the table: the database sends no messages that would keep a copy in memory current.
//! `SPEC §7.5`

use mesh_backend::state::number;
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use mesh_plan::Value;
use mesh_plan::backend::Either;

use super::State;

const IS_REVOKED: &str = "SELECT 1 FROM mesh_revocation WHERE session = ?";

const REVOKE: &str = "INSERT INTO mesh_revocation (session, until) VALUES (?, ?) \
    ON DUPLICATE KEY UPDATE until = GREATEST(until, VALUES(until))";

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        Either::Right(Box::pin(async move {
            Ok(!self.tables.run(IS_REVOKED, &[Value::Bytes(session.0.to_vec())]).await?.is_empty())
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
