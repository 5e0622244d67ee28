//! The state of a server, and the state that a URL asks for.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use tokio_postgres::types::PgLsn;

/// The state that a host must be in, by the names of libpq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionAttrs {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

impl SessionAttrs {
    const ALL: [(&str, Self); 6] = [
        ("any", Self::Any),
        ("read-write", Self::ReadWrite),
        ("read-only", Self::ReadOnly),
        ("primary", Self::Primary),
        ("standby", Self::Standby),
        ("prefer-standby", Self::PreferStandby),
    ];

    /// Parses a value of `target_session_attrs`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, attrs)| *attrs).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            format!("target_session_attrs is '{text}', but has to be one of {}", names.join(", "))
        })
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, attrs)| *attrs == self).map_or("", |(name, _)| name)
    }

    /// Returns whether only one host is suitable at a time, so that a host with a newer timeline has replaced it.
    pub(crate) fn is_primary(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Primary)
    }

    /// Returns the reason why a host is not suitable.
    pub(crate) fn mismatch(self, role: &Role) -> Option<&'static str> {
        match self {
            Self::ReadWrite | Self::Primary if role.is_standby => Some("it is a standby"),
            Self::ReadWrite if role.is_read_only => Some("its transactions are read-only"),
            Self::ReadOnly if !role.is_read_only => Some("its transactions can write"),
            Self::Standby if !role.is_standby => Some("it is not a standby"),
            _ => None,
        }
    }
}

/// The state of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    pub(crate) is_standby: bool,
    is_read_only: bool,
    /// The position up to which it has written or replayed the log.
    pub(crate) position: u64,
    /// The position up to which a standby has received the log from the primary.
    pub(crate) received: u64,
    /// The timeline that the server writes to; 0 for a standby.
    pub(crate) timeline: u32,
    /// A hash of the time at which the server was started.
    pub(super) started: u64,
    /// Whether a primary acknowledges a commit only after a standby has it.
    pub(crate) is_synchronous: bool,
}

impl Role {
    /// The query of the state. The timeline is the first part of the name of the log file that the server writes.
    pub(super) const QUERY: &str = "SELECT pg_catalog.current_setting('transaction_read_only'), \
        CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
            ELSE pg_catalog.pg_current_wal_lsn() END, \
        CASE WHEN NOT pg_catalog.pg_is_in_recovery() \
            THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END, \
        pg_catalog.pg_last_wal_receive_lsn(), \
        pg_catalog.pg_postmaster_start_time(), \
        pg_catalog.current_setting('synchronous_standby_names') <> '' \
            AND pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')";

    /// Reads the cells of the query's row.
    pub(super) fn parse(cells: &[Option<String>]) -> Self {
        let cell = |index: usize| cells.get(index).and_then(Option::as_deref);
        let position = |index| cell(index).and_then(|text| text.parse::<PgLsn>().ok()).map_or(0, u64::from);
        let timeline = cell(2).and_then(|name| u32::from_str_radix(name.get(..8)?, 16).ok());
        Self {
            is_standby: timeline.is_none(),
            is_read_only: cell(0) == Some("on"),
            position: position(1),
            received: position(3),
            timeline: timeline.unwrap_or(0),
            started: BuildHasherDefault::<DefaultHasher>::default().hash_one(cell(4)),
            is_synchronous: cell(5) == Some("t"),
        }
    }
}
