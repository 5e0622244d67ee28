//! The hosts of a database URL, and the choice of the host that connections are opened to.
//!
//! `target_session_attrs` specifies the state that a host must be in. All pools of one URL use the same suitable host
//! until it is no longer suitable. A promotion begins a new timeline of the write-ahead log. A host that accepts writes
//! on an earlier timeline than another host has therefore been replaced, and connections to it are not used again.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{Error, Notification};

use crate::error::with_causes;
use crate::pool::connect_url::ConnectUrl;
use crate::pool::link::Link;
use crate::pool::replicas::PRIMARY_DOWN_TIME;
use crate::pool::{PoolError, is_full};
use crate::settings::Settings;

/// The time limit for a connection to the host that was used last, before all hosts are tried.
const HOST_TIMEOUT: Duration = Duration::from_secs(1);
/// The time that a search waits for other hosts after it has found a suitable one.
const GRACE: Duration = Duration::from_millis(250);
/// The time after a search without success during which no host is tried.
const PAUSE: Duration = Duration::from_millis(100);
/// The host of a URL whose hosts have not been searched.
const UNKNOWN: u64 = u64::MAX;

/// The query of a server's state. The timeline is the first part of the name of the log file that the server writes.
const ROLE: &str = "SELECT pg_catalog.current_setting('transaction_read_only'), \
    CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
        ELSE pg_catalog.pg_current_wal_lsn() END, \
    CASE WHEN NOT pg_catalog.pg_is_in_recovery() \
        THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) END, \
    pg_catalog.pg_last_wal_receive_lsn(), \
    pg_catalog.pg_postmaster_start_time()";

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

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, attrs)| *attrs == self).map_or("", |(name, _)| name)
    }

    /// Returns whether only one host is suitable at a time, so that a host with a newer timeline has replaced it.
    pub(crate) fn is_primary(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Primary)
    }

    /// Returns the reason why a host is not suitable.
    fn mismatch(self, role: &Role) -> Option<&'static str> {
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
pub(super) struct Role {
    pub(super) is_standby: bool,
    is_read_only: bool,
    /// The position up to which it has written or replayed the log.
    pub(super) position: u64,
    /// The position up to which a standby has received the log from the primary.
    pub(super) received: u64,
    /// The timeline that the server writes to; 0 for a standby.
    pub(super) timeline: u32,
    /// A hash of the time at which the server was started.
    started: u64,
}

impl Role {
    /// Queries the state of the server of a connection.
    pub(super) async fn read(link: &Link) -> Result<Self, Error> {
        Self::read_before(link, "").await
    }

    /// Queries the state, and then runs a statement.
    async fn read_before(link: &Link, statement: &str) -> Result<Self, Error> {
        let cells = link.query_simple(&format!("{ROLE}; {statement}")).await?;
        let cell = |index: usize| cells.get(index).and_then(Option::as_deref);
        let position = |index| cell(index).and_then(|text| text.parse::<PgLsn>().ok()).map_or(0, u64::from);
        let timeline = cell(2).and_then(|name| u32::from_str_radix(name.get(..8)?, 16).ok());
        Ok(Self {
            is_standby: timeline.is_none(),
            is_read_only: cell(0) == Some("on"),
            position: position(1),
            received: position(3),
            timeline: timeline.unwrap_or(0),
            started: BuildHasherDefault::<DefaultHasher>::default().hash_one(cell(4)),
        })
    }
}

/// The hosts of a URL. Clones of the URL share them.
pub(crate) struct Hosts {
    names: Vec<String>,
    pub(crate) attrs: SessionAttrs,
    /// The index of the suitable host in the lower half, and the newest timeline in the upper half.
    current: AtomicU64,
    /// The primary that was found last.
    primary: Mutex<Option<KnownPrimary>>,
    /// The time and the error of the last search without success.
    failed: Mutex<Option<(Instant, Arc<str>)>>,
    /// Locked during a search.
    search: tokio::sync::Mutex<()>,
}

/// A primary since its start or promotion.
struct KnownPrimary {
    timeline: u32,
    started: u64,
    found_at: Instant,
}

/// A connection with its notifications.
pub(crate) type LinkWithNotifications = (Link, UnboundedReceiver<Notification>);

/// The reason why a host is not used.
enum HostError {
    Failed(Error),
    Mismatch(&'static str),
}

impl From<Error> for HostError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Hosts {
    pub(super) fn new(names: Vec<String>, attrs: SessionAttrs) -> Self {
        Self {
            names,
            attrs,
            current: AtomicU64::new(UNKNOWN),
            primary: Mutex::default(),
            failed: Mutex::default(),
            search: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns whether a connection has to be checked before it is used.
    pub(crate) fn is_checked(&self) -> bool {
        self.attrs != SessionAttrs::Any || self.names.len() > 1
    }

    /// Returns the newest timeline of a primary; 0 if no primary was found, or the URL does not ask for one.
    pub(crate) fn timeline(&self) -> u32 {
        match self.current.load(Ordering::Acquire) {
            UNKNOWN => 0,
            current => (current >> 32) as u32,
        }
    }

    fn index(&self) -> Option<usize> {
        let current = self.current.load(Ordering::Acquire);
        (current != UNKNOWN).then_some((current & u64::from(u32::MAX)) as usize)
    }

    /// Makes connections use a suitable host, unless another one has a newer timeline.
    pub(super) fn adopt(&self, index: usize, role: &Role) {
        let timeline = if self.attrs.is_primary() { role.timeline } else { 0 };
        let mut primary = self.primary.lock();
        if primary.as_ref().is_some_and(|primary| timeline < primary.timeline) {
            return;
        }
        if primary
            .as_ref()
            .is_none_or(|primary| (primary.timeline, primary.started) != (timeline, role.started))
        {
            *primary = Some(KnownPrimary { timeline, started: role.started, found_at: Instant::now() });
        }
        let adopted = u64::from(timeline) << 32 | index as u64;
        let before = self.current.swap(adopted, Ordering::AcqRel);
        drop(primary);
        *self.failed.lock() = None;
        let name = self.names.get(index).map_or("", String::as_str);
        match before {
            _ if before == adopted || self.names.len() == 1 => {}
            UNKNOWN if role.is_standby && self.attrs == SessionAttrs::Any => tracing::warn!(
                "connected to the database at {name}, a standby that accepts no writes: to use the primary, add \
                 target_session_attrs=read-write to the URL"
            ),
            UNKNOWN => tracing::info!("connected to the database at {name}"),
            _ => tracing::warn!("now connected to the database at {name}"),
        }
    }

    /// Returns the time from which a write to the primary can be answered. Until then, other servers may assume that
    /// there is no primary or a different one, and may read older data.
    pub(crate) fn settled_at(&self) -> Option<Instant> {
        let is_chosen = self.attrs.is_primary() && self.names.len() > 1;
        self.primary.lock().as_ref().filter(|_| is_chosen).map(|primary| primary.found_at + PRIMARY_DOWN_TIME)
    }

    /// Returns the error of a search that has just ended without success.
    fn recent_failure(&self) -> Option<PoolError> {
        let failed = self.failed.lock();
        let (_, error) = failed.as_ref().filter(|(time, _)| time.elapsed() < PAUSE)?;
        Some(PoolError::NoHost(Arc::clone(error)))
    }

    /// Returns whether a host in this state is suitable, regardless of its timeline.
    pub(super) fn fits(&self, role: &Role) -> bool {
        self.attrs.mismatch(role).is_none()
    }

    fn check(&self, role: &Role) -> Result<(), HostError> {
        if let Some(mismatch) = self.attrs.mismatch(role) {
            return Err(HostError::Mismatch(mismatch));
        }
        if self.attrs.is_primary() && role.timeline < self.timeline() {
            return Err(HostError::Mismatch("another host was promoted in its place"));
        }
        Ok(())
    }
}

/// Opens a connection to a suitable host.
pub(super) async fn open(
    target: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<LinkWithNotifications, PoolError> {
    let hosts = &*target.hosts;
    if !hosts.is_checked() {
        return Link::open_host(target, 0, settings, begin).await.map_err(PoolError::Refused);
    }
    if let Some(error) = hosts.recent_failure() {
        return Err(error);
    }
    let before = hosts.index();
    if let Some(opened) = open_current(target, settings, begin).await? {
        return Ok(opened);
    }
    let _searching = hosts.search.lock().await;
    if let Some(error) = hosts.recent_failure() {
        return Err(error);
    }
    // Another search may have ended in the meantime.
    if hosts.index() != before
        && let Some(opened) = open_current(target, settings, begin).await?
    {
        return Ok(opened);
    }
    search(target, settings, begin).await
}

/// Opens a connection to the host that was used last, if it is still suitable.
async fn open_current(
    target: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<Option<LinkWithNotifications>, PoolError> {
    let Some(index) = target.hosts.index() else { return Ok(None) };
    match tokio::time::timeout(HOST_TIMEOUT, open_checked(target, index, settings, begin)).await {
        Ok(Ok((opened, role))) => {
            target.hosts.adopt(index, &role);
            Ok(Some(opened))
        }
        Ok(Err(HostError::Failed(error))) if is_full(&error) => Err(PoolError::Refused(error)),
        _ => Ok(None),
    }
}

/// Opens connections to all hosts, and returns the most suitable one: of two primaries, the one with the newer
/// timeline.
async fn search(
    target: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<LinkWithNotifications, PoolError> {
    let hosts = &*target.hosts;
    let is_first = hosts.index().is_none();
    let mut opening: FuturesUnordered<_> = (0..hosts.names.len())
        .map(|index| async move { (index, open_checked(target, index, settings, begin).await) })
        .collect();
    let mut best: Option<(usize, LinkWithNotifications, Role)> = None;
    let mut faults = Vec::new();
    let mut until = None;
    loop {
        let next = match until {
            None => opening.next().await,
            Some(until) => tokio::time::timeout_at(until, opening.next()).await.ok().flatten(),
        };
        let Some((index, opened)) = next else { break };
        match opened {
            Ok((opened, role)) => {
                until.get_or_insert_with(|| tokio::time::Instant::now() + GRACE);
                let is_better = best.as_ref().is_none_or(|(best_index, _, best)| {
                    let rank = |role: &Role| match hosts.attrs {
                        SessionAttrs::PreferStandby => u32::from(role.is_standby),
                        attrs if attrs.is_primary() => role.timeline,
                        _ => 0,
                    };
                    // Of equal hosts, the first one in the URL is used.
                    (rank(&role), *best_index) > (rank(best), index)
                });
                if is_better {
                    best = Some((index, opened, role));
                }
            }
            Err(HostError::Failed(error)) if is_full(&error) && hosts.names.len() == 1 => {
                return Err(PoolError::Refused(error));
            }
            Err(fault) => faults.push((index, fault)),
        }
    }
    faults.sort_by_key(|(index, _)| *index);
    let name = |index: usize| hosts.names.get(index).map_or("", String::as_str);
    let Some((index, opened, role)) = best else {
        let mut text = match hosts.attrs {
            SessionAttrs::Any => String::from("no host of the database can be used"),
            attrs => format!("no host of the database fits target_session_attrs={}", attrs.name()),
        };
        for (number, (index, fault)) in faults.iter().enumerate() {
            let separator = if number == 0 { ": " } else { "; " };
            let _ = write!(text, "{separator}{}: {fault}", name(*index));
        }
        let text: Arc<str> = text.into();
        *hosts.failed.lock() = Some((Instant::now(), Arc::clone(&text)));
        return Err(PoolError::NoHost(text));
    };
    if is_first {
        for (index, fault) in &faults {
            if let HostError::Failed(_) = fault {
                tracing::warn!("a host of the database cannot be used: {}: {fault}", name(*index));
            }
        }
    }
    hosts.adopt(index, &role);
    Ok(opened)
}

/// Opens a connection to a host, and checks that the host is suitable.
async fn open_checked(
    target: &ConnectUrl,
    index: usize,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<(LinkWithNotifications, Role), HostError> {
    let (mut link, notifications) = Link::open_host(target, index, settings, begin).await?;
    let role = Role::read_before(&link, &target.after_check).await?;
    target.hosts.check(&role)?;
    if target.hosts.attrs.is_primary() {
        link.timeline = role.timeline;
    }
    Ok(((link, notifications), role))
}

impl std::fmt::Display for HostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) => f.write_str(&with_causes(error)),
            Self::Mismatch(why) => f.write_str(why),
        }
    }
}
