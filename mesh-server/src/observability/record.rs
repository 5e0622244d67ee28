//! What was seen of a request on its way? For the numbers, the log of requests and `Server-Timing`.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mesh_integrity::Session;
use mesh_wire::Route;

use crate::observability::trace_context::TraceContext;

/// Which kind of route answered. What stands in the path is not among it: labels of metrics have to be few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RouteKind {
    /// No route: nothing is at the path, or it takes another method.
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
    Own,
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
        Self::Own,
        Self::Docs,
        Self::Admin,
    ];

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

    /// Method and path, the latter without the base.
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
            Self::Own => ("", "own"),
            Self::Docs => ("", "docs"),
            Self::Admin => ("GET", "admin"),
        }
    }
}

/// A request on its way. Written by its one task, and read when that is done.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub(crate) start: Instant,
    /// Where it stands in a trace.
    pub(crate) place: Option<TraceContext>,
    template: AtomicU8,
    is_read: AtomicBool,
    rows: AtomicU64,
    /// Nanoseconds from the start until the read began.
    planned: AtomicU64,
    /// Nanoseconds that the read took.
    took: AtomicU64,
    session: OnceLock<Arc<Session>>,
}

/// What a read came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) rows: u64,
    /// Nanoseconds until it could begin.
    pub(crate) planned: u64,
    /// Nanoseconds in the back end.
    pub(crate) took: u64,
}

impl RequestRecord {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            place: None,
            template: AtomicU8::new(RouteKind::None as u8),
            is_read: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            planned: AtomicU64::new(0),
            took: AtomicU64::new(0),
            session: OnceLock::new(),
        }
    }

    /// The request goes there.
    pub(crate) fn set_route(&self, template: RouteKind) {
        self.template.store(template as u8, Ordering::Relaxed);
    }

    pub(crate) fn template(&self) -> RouteKind {
        let number = usize::from(self.template.load(Ordering::Relaxed));
        RouteKind::ALL.get(number).copied().unwrap_or(RouteKind::None)
    }

    /// The request is that session's.
    pub(crate) fn set_session(&self, session: &Arc<Session>) {
        let _ = self.session.set(Arc::clone(session));
    }

    /// Whose request it is, where that was found out.
    pub(crate) fn user(&self) -> Option<&str> {
        self.session.get().map(|session| session.user.as_str())
    }

    /// The read begins.
    pub(crate) fn read_started(&self) {
        self.planned.store(nanoseconds(self.start.elapsed()), Ordering::Relaxed);
    }

    /// The read has ended, well or not.
    pub(crate) fn read_finished(&self, rows: usize) {
        let planned = self.planned.load(Ordering::Relaxed);
        let took = nanoseconds(self.start.elapsed()).saturating_sub(planned);
        self.took.store(took, Ordering::Relaxed);
        self.rows.store(rows as u64, Ordering::Relaxed);
        self.is_read.store(true, Ordering::Relaxed);
    }

    /// What the read came to, if it was one.
    pub(crate) fn read(&self) -> Option<Read> {
        if !self.is_read.load(Ordering::Relaxed) {
            return None;
        }
        let rows = self.rows.load(Ordering::Relaxed);
        let planned = self.planned.load(Ordering::Relaxed);
        let took = self.took.load(Ordering::Relaxed);
        Some(Read { rows, planned, took })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_template_stands_at_its_number() {
        for (number, template) in RouteKind::ALL.into_iter().enumerate() {
            assert_eq!(template as usize, number);
        }
        let labels: std::collections::HashSet<_> = RouteKind::ALL.iter().map(|one| one.labels()).collect();
        assert_eq!(labels.len(), RouteKind::ALL.len());
    }
}
