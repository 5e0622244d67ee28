//! The state of the primary that a poll reads.

use tokio_postgres::Error;
use tokio_postgres::types::PgLsn;

use crate::pool::link::Link;

/// The position of the log, and whether a commit is acknowledged after a standby has it.
const QUERY: &str = "SELECT pg_current_wal_lsn(), current_setting('synchronous_standby_names') <> '' \
    AND current_setting('synchronous_commit') IN ('on', 'remote_apply')";

/// The state of the primary.
pub(super) struct PrimaryStatus {
    /// The position up to which it has written.
    pub(super) position: u64,
    /// Its timeline; 0 if the URL does not ask for a primary.
    pub(super) timeline: u32,
    /// Whether commits wait for standbys.
    pub(super) is_synchronous: bool,
}

impl PrimaryStatus {
    /// Queries the state.
    pub(super) async fn read(link: &Link) -> Result<Self, Error> {
        let rows = link.query_once(QUERY, &[]).await?;
        let row = rows.first();
        Ok(Self {
            position: row.map_or(0, |row| row.get::<_, PgLsn>(0).into()),
            timeline: link.timeline,
            is_synchronous: row.is_some_and(|row| row.get(1)),
        })
    }
}
