//! Ended sessions. `SPEC §7.5`
//!
//! All servers are notified of each, so that memory answers while a server receives messages, else the table.

use std::borrow::Cow;
use std::future::ready;

use futures_util::future::Either;
use mesh_integrity::{MaybeReady, RevocationStore, SessionId, StoreError};

use super::{State, bytes, number};
use crate::other_servers::ANNOUNCEMENTS;
use crate::read::TextParam;

impl State {
    async fn ask(&self, session: SessionId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM mesh.revocation WHERE session = $1::bytea";
        let rows = self.run(sql, &[bytes(&session.0)]).await.map_err(StoreError::new)?;
        Ok(!rows.is_empty())
    }

    async fn end(&self, session: SessionId, until: u64) -> Result<(), StoreError> {
        let waiting = self.other_servers.expect();
        let sql = format!(
            "WITH ended AS (
                 INSERT INTO mesh.revocation AS r (session, until) VALUES ($1::bytea, $2::bigint)
                 ON CONFLICT (session) DO UPDATE SET until = greatest(r.until, excluded.until) RETURNING r.until
             )
             SELECT pg_notify('{ANNOUNCEMENTS}', 'ended ' || encode($1::bytea, 'hex') || ' ' || until || ' ' || $3::text)
             FROM ended"
        );
        let token = TextParam(Some(Cow::Borrowed(&waiting.token)));
        self.run(&sql, &[bytes(&session.0), number(until), token]).await.map_err(StoreError::new)?;
        self.other_servers.revoked.insert(session, until);
        // Whoever is not counted begins to listen after this, and reads the table then.
        let others = self.run(&self.other_servers.count_others(), &[]).await.map_err(StoreError::new)?;
        let others = others.first().map_or(0, |row| row.get::<_, i64>(0));
        waiting.all_have_heard(usize::try_from(others).unwrap_or(0)).await;
        Ok(())
    }
}

impl RevocationStore for State {
    fn is_revoked(&self, session: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
        match self.other_servers.revoked.has(session).filter(|_| self.other_servers.has_heard_all()) {
            Some(ended) => Either::Left(ready(Ok(ended))),
            None => Either::Right(Box::pin(self.ask(session))),
        }
    }

    fn revoke(
        &self,
        session: SessionId,
        expires_at: u64,
        now: u64,
    ) -> MaybeReady<'_, Result<(), StoreError>> {
        Either::Right(Box::pin(async move {
            self.sweep_when_due(now);
            self.end(session, expires_at).await
        }))
    }
}
