//! The hosts of a database URL. A connection to a primary that was replaced is not used again.
//!
//! All pools of one URL connect to the same host until it is no longer suitable. A promotion begins a new timeline of the
//! write-ahead log, so a host that accepts writes on an earlier timeline than another host has been replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::pool::role::{Role, SessionAttrs};

/// The time after the start of a poll without a response of the primary during which a server assumes that there is
/// no primary. It is longer than the time until the end of the next poll.
pub(crate) const PRIMARY_DOWN_TIME: Duration = Duration::from_millis(2_500);

/// The hosts of a URL. Clones of the URL share them.
pub(crate) struct Hosts {
    pub(super) names: Vec<String>,
    pub(crate) attrs: SessionAttrs,
    /// The newest timeline of a primary; 0 if no primary was found, or the URL does not ask for one.
    timeline: AtomicU32,
    current: Mutex<Option<CurrentHost>>,
    /// The time and the error of the last search without success. Locked during a search.
    pub(super) failed_search: tokio::sync::Mutex<Option<(Instant, Arc<str>)>>,
}

/// The host that is used, since its start or promotion.
#[derive(Clone, Copy)]
struct CurrentHost {
    index: usize,
    timeline: u32,
    started: u64,
    found_at: Instant,
}

impl Hosts {
    pub(super) fn new(names: Vec<String>, attrs: SessionAttrs) -> Self {
        let (timeline, current, failed_search) = Default::default();
        Self { names, attrs, timeline, current, failed_search }
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
        self.timeline.load(Ordering::Acquire)
    }

    /// Returns the index of the host that is used; `None` before the first search.
    pub(super) fn index(&self) -> Option<usize> {
        self.current.lock().map(|current| current.index)
    }

    /// Makes connections use a suitable host, unless another one has a newer timeline.
    pub(crate) fn adopt(&self, index: usize, role: &Role) {
        let timeline = if self.attrs.is_primary() { role.timeline } else { 0 };
        let before = {
            let mut current = self.current.lock();
            if timeline < self.timeline() {
                return;
            }
            let known = current.filter(|known| (known.timeline, known.started) == (timeline, role.started));
            let found_at = known.map_or_else(Instant::now, |known| known.found_at);
            self.timeline.store(timeline, Ordering::Release);
            current.replace(CurrentHost { index, timeline, started: role.started, found_at })
        };
        let name = self.names.get(index).map_or("", String::as_str);
        match before {
            _ if self.names.len() == 1 => {}
            None if role.is_standby && self.attrs == SessionAttrs::Any => tracing::warn!(
                "connected to the database at {name}, a standby that accepts no writes: to use the primary, add \
                 target_session_attrs=read-write to the URL"
            ),
            None => tracing::info!("connected to the database at {name}"),
            Some(before) if (before.index, before.timeline) == (index, timeline) => {}
            Some(_) => tracing::warn!("now connected to the database at {name}"),
        }
    }

    /// Returns the time from which a write to the primary can be answered. Until then, other servers may assume that
    /// there is no primary or a different one, and may read older data.
    pub(crate) fn settled_at(&self) -> Option<Instant> {
        let is_chosen = self.attrs.is_primary() && self.names.len() > 1;
        self.current.lock().filter(|_| is_chosen).map(|current| current.found_at + PRIMARY_DOWN_TIME)
    }

    /// Returns the reason why a host in this state is not used.
    pub(super) fn mismatch(&self, role: &Role) -> Option<&'static str> {
        let is_replaced = self.attrs.is_primary() && role.timeline < self.timeline();
        self.attrs.mismatch(role).or_else(|| is_replaced.then_some("another host was promoted in its place"))
    }
}
