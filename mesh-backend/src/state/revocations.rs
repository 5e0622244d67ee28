//! Revoked sessions. `SPEC §7.5`

use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};
use mesh_plan::Value;
use mesh_plan::backend::Either;

use super::{State, number};

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        Either::Right(Box::pin(async move {
            let session = Value::Bytes(session.0.to_vec());
            let rows = self.0.lookups.read(self.0.statements.is_revoked, &[session]).await;
            Ok(!rows.map_err(StoreError::new)?.is_empty())
        }))
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        self.sweep_if_due(now);
        Either::Right(Box::pin(async move {
            let params = [Value::Bytes(session.0.to_vec()), number(expires_at)];
            self.run(self.0.statements.revoke, &params).await.map(drop)
        }))
    }
}
