//! The record of a request, from which metrics, the access log and `Server-Timing` are written.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mesh_integrity::Session;
use mesh_wire::Route;

use crate::observability::trace_context::TraceContext;

/// The kind of route that answers a request, without the names in its path: it is a label of metrics, of which there
/// should be few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RouteKind {
    /// No route: the path is unknown or does not allow the method.
    None,
    Collection,
    Point,
    Post,
    Register,
    Login,
    Logout,
    Events,
    File,
    Create,
    Update,
    Delete,
    Attach,
    Connect,
    Disconnect,
    Remove,
    Options,
    Custom,
    Docs,
    Admin,
}

impl RouteKind {
    pub(crate) const ALL: [Self; 20] = [
        Self::None,
        Self::Collection,
        Self::Point,
        Self::Post,
        Self::Register,
        Self::Login,
        Self::Logout,
        Self::Events,
        Self::File,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Attach,
        Self::Connect,
        Self::Disconnect,
        Self::Remove,
        Self::Options,
        Self::Custom,
        Self::Docs,
        Self::Admin,
    ];

    /// Returns the kind of a route of the protocol.
    pub(crate) fn of(route: &Route<'_>) -> Self {
        match route {
            Route::Collection { .. } => Self::Collection,
            Route::Point { .. } => Self::Point,
            Route::Post => Self::Post,
            Route::Register => Self::Register,
            Route::Login => Self::Login,
            Route::Logout => Self::Logout,
            Route::Events { .. } => Self::Events,
            Route::File { .. } => Self::File,
            Route::Create { .. } => Self::Create,
            Route::Update { .. } => Self::Update,
            Route::Delete { .. } => Self::Delete,
            Route::Attach { .. } => Self::Attach,
            Route::Connect { .. } => Self::Connect,
            Route::Disconnect { .. } => Self::Disconnect,
            Route::Remove { .. } => Self::Remove,
            Route::Options { .. } => Self::Options,
            _ => Self::None,
        }
    }

    /// Returns method and path, the latter without the base.
    pub(crate) fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::None => ("", "none"),
            Self::Collection => ("GET", "/:entity"),
            Self::Point => ("GET", "/:entity/:id"),
            Self::Post => ("POST", "/"),
            Self::Register => ("POST", "/queries"),
            Self::Login => ("POST", "/auth"),
            Self::Logout => ("POST", "/logout"),
            Self::Events => ("GET", "/:entity/:id/events"),
            Self::File => ("GET", "/files/:key"),
            Self::Create => ("POST", "/:entity"),
            Self::Update => ("PUT", "/:entity/:id"),
            Self::Delete => ("DELETE", "/:entity/:id"),
            Self::Attach => ("POST", "/:entity/:id/:member"),
            Self::Connect => ("PUT", "/:entity/:id/:relation"),
            Self::Disconnect => ("DELETE", "/:entity/:id/:relation"),
            Self::Remove => ("DELETE", "/:entity/:id/:relation/:child"),
            Self::Options => ("OPTIONS", "any"),
            Self::Custom => ("", "own"),
            Self::Docs => ("", "docs"),
            Self::Admin => ("GET", "admin"),
        }
    }
}

/// What is reported about a request. One task writes it and reads it at the end; the fields are atomic because futures
/// that borrow it move between threads.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub(crate) start: Instant,
    /// The trace that the request belongs to.
    pub(crate) trace: Option<TraceContext>,
    route: AtomicU8,
    is_read: AtomicBool,
    rows: AtomicU64,
    /// Nanoseconds from the start until the read started.
    until_read: AtomicU64,
    /// Nanoseconds of the read.
    read: AtomicU64,
    session: OnceLock<Arc<Session>>,
}

/// A read that has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRecord {
    pub(crate) rows: u64,
    /// Time from the start of the request until the read started.
    pub(crate) until_start: Duration,
    /// Time in the back end.
    pub(crate) duration: Duration,
}

impl RequestRecord {
    /// Starts the record of a request that has just arrived.
    pub(crate) fn new(trace: Option<TraceContext>) -> Self {
        Self {
            start: Instant::now(),
            trace,
            route: AtomicU8::new(RouteKind::None as u8),
            is_read: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            until_read: AtomicU64::new(0),
            read: AtomicU64::new(0),
            session: OnceLock::new(),
        }
    }

    /// Sets the kind of route.
    pub(crate) fn set_route(&self, route: RouteKind) {
        self.route.store(route as u8, Ordering::Relaxed);
    }

    /// Returns the kind of route.
    pub(crate) fn route(&self) -> RouteKind {
        let number = usize::from(self.route.load(Ordering::Relaxed));
        RouteKind::ALL.get(number).copied().unwrap_or(RouteKind::None)
    }

    /// Sets the session.
    pub(crate) fn set_session(&self, session: &Arc<Session>) {
        let _ = self.session.set(Arc::clone(session));
    }

    /// Returns the user of the session.
    pub(crate) fn user(&self) -> Option<&str> {
        self.session.get().map(|session| session.user.as_str())
    }

    /// Records that the read starts.
    pub(crate) fn read_started(&self) {
        self.until_read.store(nanoseconds(self.start.elapsed()), Ordering::Relaxed);
    }

    /// Records that the read has finished, with how many rows.
    pub(crate) fn read_finished(&self, rows: usize) {
        let until_read = self.until_read.load(Ordering::Relaxed);
        let read = nanoseconds(self.start.elapsed()).saturating_sub(until_read);
        self.read.store(read, Ordering::Relaxed);
        self.rows.store(rows as u64, Ordering::Relaxed);
        self.is_read.store(true, Ordering::Relaxed);
    }

    /// Returns the read, if there was one.
    pub(crate) fn read(&self) -> Option<ReadRecord> {
        if !self.is_read.load(Ordering::Relaxed) {
            return None;
        }
        let duration = |nanoseconds: &AtomicU64| Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        let rows = self.rows.load(Ordering::Relaxed);
        Some(ReadRecord { rows, until_start: duration(&self.until_read), duration: duration(&self.read) })
    }
}

/// Returns the nanoseconds of a duration.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_kinds_are_listed_in_order_and_have_distinct_labels() {
        for (number, kind) in RouteKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        let labels: std::collections::HashSet<_> = RouteKind::ALL.iter().map(|kind| kind.labels()).collect();
        assert_eq!(labels.len(), RouteKind::ALL.len());
    }
}
