//! The search for the host that a URL asks for. A connection that is opened after a promotion goes to the promoted host,
//! without a restart.
//!
//! `target_session_attrs` specifies the state that the host must be in.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mesh_backend::pool::ErrorKind;
use tokio_postgres::Error;

use crate::error::with_causes;
use crate::pool::connect_url::ConnectUrl;
use crate::pool::connection::{Connection, ConnectionWithNotifications, PoolError};
use crate::pool::error_kind::kind;
use crate::pool::role::{Role, SessionAttrs};
use crate::settings::Settings;

/// The time limit for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for a connection to one of several hosts.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);
/// The time after a search without success during which no further one begins.
const PAUSE: Duration = Duration::from_millis(100);

/// The reason why a host is not used.
enum HostError {
    Failed(Error),
    Mismatch(&'static str),
    Silent,
}

impl From<Error> for HostError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Opens a connection to a suitable host.
pub(super) async fn open(
    url: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<ConnectionWithNotifications, PoolError> {
    let opening = open_suitable(url, settings, begin);
    tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(|_| PoolError::TimedOut)?
}

async fn open_suitable(
    url: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<ConnectionWithNotifications, PoolError> {
    let hosts = &*url.hosts;
    if !hosts.is_checked() {
        return Connection::open_host(url, 0, settings, begin).await.map_err(PoolError::Refused);
    }
    let before = hosts.index();
    if let Some(opened) = open_current(url, settings, begin).await? {
        return Ok(opened);
    }
    let mut failed = hosts.failed_search.lock().await;
    // Another search may have ended in the meantime.
    if hosts.index() != before
        && let Some(opened) = open_current(url, settings, begin).await?
    {
        return Ok(opened);
    }
    if let Some((time, error)) = &*failed
        && time.elapsed() < PAUSE
    {
        return Err(PoolError::NoHost(Arc::clone(error)));
    }
    let opened = search(url, settings, begin).await;
    if let Err(PoolError::NoHost(error)) = &opened {
        *failed = Some((Instant::now(), Arc::clone(error)));
    }
    opened
}

/// Opens a connection to the host that was used last, if it is still suitable.
async fn open_current(
    url: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<Option<ConnectionWithNotifications>, PoolError> {
    let Some(index) = url.hosts.index() else { return Ok(None) };
    match tokio::time::timeout(HOST_TIMEOUT, open_checked(url, index, settings, begin)).await {
        Ok(Ok((opened, role))) => {
            url.hosts.adopt(index, &role);
            Ok(Some(opened))
        }
        Ok(Err(HostError::Failed(error))) if kind(&error) == ErrorKind::Full => {
            Err(PoolError::Refused(error))
        }
        _ => Ok(None),
    }
}

/// Opens connections to all hosts, and returns the most suitable one: of two primaries, the one with the newer
/// timeline; of equal hosts, the first one in the URL.
async fn search(
    url: &ConnectUrl,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<ConnectionWithNotifications, PoolError> {
    let hosts = &*url.hosts;
    let is_first = hosts.index().is_none();
    let opening = (0..hosts.names.len()).map(|index| async move {
        let opened = tokio::time::timeout(HOST_TIMEOUT, open_checked(url, index, settings, begin)).await;
        opened.unwrap_or(Err(HostError::Silent))
    });
    let rank = |role: &Role| match hosts.attrs {
        SessionAttrs::PreferStandby => u32::from(role.is_standby),
        attrs if attrs.is_primary() => role.timeline,
        _ => 0,
    };
    let mut best: Option<(usize, ConnectionWithNotifications, Role)> = None;
    let mut faults = Vec::new();
    for ((index, name), opened) in hosts.names.iter().enumerate().zip(join_all(opening).await) {
        match opened {
            Ok((opened, role)) if best.as_ref().is_none_or(|(.., best)| rank(&role) > rank(best)) => {
                best = Some((index, opened, role));
            }
            Ok(_) => {}
            Err(HostError::Failed(error)) if kind(&error) == ErrorKind::Full && hosts.count() == 1 => {
                return Err(PoolError::Refused(error));
            }
            Err(fault) => {
                if is_first && !matches!(fault, HostError::Mismatch(_)) {
                    tracing::warn!("a host of the database cannot be used: {name}: {fault}");
                }
                faults.push(format!("{name}: {fault}"));
            }
        }
    }
    let Some((index, opened, role)) = best else {
        let why = match hosts.attrs {
            SessionAttrs::Any => "no host of the database can be used".to_owned(),
            attrs => format!("no host of the database fits target_session_attrs={}", attrs.name()),
        };
        return Err(PoolError::NoHost(format!("{why}: {}", faults.join("; ")).into()));
    };
    hosts.adopt(index, &role);
    Ok(opened)
}

/// Opens a connection to a host, and checks that the host is suitable.
async fn open_checked(
    url: &ConnectUrl,
    index: usize,
    settings: &Settings,
    begin: &Arc<str>,
) -> Result<(ConnectionWithNotifications, Role), HostError> {
    let (mut connection, notifications) = Connection::open_host(url, index, settings, begin).await?;
    let role = connection.role(&url.after_check).await?;
    if let Some(mismatch) = url.hosts.mismatch(&role) {
        return Err(HostError::Mismatch(mismatch));
    }
    if url.hosts.attrs.is_primary() {
        connection.timeline = role.timeline;
    }
    Ok(((connection, notifications), role))
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => f.write_str(&with_causes(error)),
            Self::Mismatch(why) => f.write_str(why),
            Self::Silent => f.write_str("it does not respond"),
        }
    }
}
