//! Revoked sessions. `SPEC §7.5`

use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use mesh_plan::Value;
use mesh_plan::backend::Either;

use super::{State, number};

/// Looks sessions up in the table, unless an engine has its own store.
impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, now: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        if let Some(announced) = &self.0.announced {
            return announced.is_revoked(session, now);
        }
        Either::Right(Box::pin(async move {
            let session = Value::Bytes(session.0.to_vec());
            Ok(!self.run(self.0.statements.is_revoked, &[session]).await?.is_empty())
        }))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        self.sweep_if_due(now);
        if let Some(announced) = &self.0.announced {
            return announced.revoke(session, expires_at, now);
        }
        Either::Right(Box::pin(async move {
            let params = [Value::Bytes(session.0.to_vec()), number(expires_at)];
            self.run(self.0.statements.revoke, &params).await.map(drop)
        }))
    }
}
