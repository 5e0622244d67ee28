//! The search for the host that a URL asks for. A connection that is opened after a promotion goes to the promoted host,
//! without a restart.
//!
//! `target_session_attrs` specifies the state that the host must be in.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio_postgres::Error;

use crate::error::with_causes;
use crate::pool::connect_url::ConnectUrl;
use crate::pool::error::{PoolError, is_full};
use crate::pool::link::{Link, LinkWithNotifications};
use crate::pool::role::{Role, SessionAttrs};
use crate::settings::Settings;

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for a connection to the host that was used last, before all hosts are tried.
const HOST_TIMEOUT: Duration = Duration::from_secs(1);
/// The time that a search waits for other hosts after it has found a suitable one.
const GRACE: Duration = Duration::from_millis(250);
/// The time after a search without success during which no further one begins.
const PAUSE: Duration = Duration::from_millis(100);

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

/// Opens a connection to a suitable host.
pub(super) async fn open(
    target: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<LinkWithNotifications, PoolError> {
    let opening = open_suitable(target, settings, begin);
    tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(|_| PoolError::TimedOut)?
}

async fn open_suitable(
    target: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<LinkWithNotifications, PoolError> {
    let hosts = &*target.hosts;
    if !hosts.is_checked() {
        return Link::open_host(target, 0, settings, begin).await.map_err(PoolError::Refused);
    }
    let before = hosts.index();
    if let Some(opened) = open_current(target, settings, begin).await? {
        return Ok(opened);
    }
    let mut failed = hosts.failed_search.lock().await;
    // Another search may have ended in the meantime.
    if hosts.index() != before
        && let Some(opened) = open_current(target, settings, begin).await?
    {
        return Ok(opened);
    }
    if let Some((time, error)) = &*failed
        && time.elapsed() < PAUSE
    {
        return Err(PoolError::NoHost(Arc::clone(error)));
    }
    let opened = search(target, settings, begin).await;
    if let Err(PoolError::NoHost(error)) = &opened {
        *failed = Some((Instant::now(), Arc::clone(error)));
    }
    opened
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
        return Err(PoolError::NoHost(text.into()));
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
    let role = link.role(&target.after_check).await?;
    if let Some(mismatch) = target.hosts.mismatch(&role) {
        return Err(HostError::Mismatch(mismatch));
    }
    if target.hosts.attrs.is_primary() {
        link.timeline = role.timeline;
    }
    Ok(((link, notifications), role))
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => f.write_str(&with_causes(error)),
            Self::Mismatch(why) => f.write_str(why),
        }
    }
}
