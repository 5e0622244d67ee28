//! The record of a request, from which metrics, the access log and `Server-Timing` are written.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::StatusCode;
use mesh_integrity::Session;
use mesh_plan::Principal;
use mesh_wire::{Effect, Route, WireError};
use parking_lot::Mutex;

use crate::identity::caller::{Caller, CallerKind};
use crate::observability::audit::details::AuditDetails;
use crate::observability::trace_context::TraceContext;

/// Defines the kinds of routes: each with its method, its path without the base, and the protocol routes that it covers.
macro_rules! route_kinds {
    ($($(#[$about:meta])* $kind:ident($method:literal, $path:literal) $(= $route:pat)?,)+) => {
        /// The kind of route that answers a request. It does not contain the names in the path, because it is a label
        /// of metrics, which should have few values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RouteKind {
            $($(#[$about])* $kind,)+
        }

        impl RouteKind {
            /// The kinds in order, each with its method and its path without the base.
            pub(crate) const ALL: &[(Self, &'static str, &'static str)] = &[$((Self::$kind, $method, $path)),+];

            /// Returns the kind of a route of the protocol.
            pub(crate) fn from_route(route: &Route<'_>) -> Self {
                match route {
                    $($($route => Self::$kind,)?)+
                    _ => Self::None,
                }
            }
        }
    };
}

route_kinds! {
    /// No route: the path is unknown or does not allow the method.
    None("", "none"),
    Collection("GET", "/:entity") = Route::Collection { .. },
    Point("GET", "/:entity/:id") = Route::Point { .. },
    Post("POST", "/") = Route::Post,
    Register("POST", "/queries") = Route::Register,
    Batch("POST", "/batch") = Route::Batch,
    Login("POST", "/auth") = Route::Login,
    Logout("POST", "/logout") = Route::Logout,
    Events("GET", "/:entity/:id/events") = Route::Events { .. },
    File("GET", "/files/:key") = Route::File { .. },
    Create("POST", "/:entity") = Route::Create { .. },
    Update("PUT", "/:entity/:id") = Route::Update { .. },
    Delete("DELETE", "/:entity/:id") = Route::Delete { .. },
    Attach("POST", "/:entity/:id/:member") = Route::Attach { .. },
    Connect("PUT", "/:entity/:id/:relation") = Route::Connect { .. },
    Disconnect("DELETE", "/:entity/:id/:relation") = Route::Disconnect { .. },
    Remove("DELETE", "/:entity/:id/:relation/:child") = Route::Remove { .. },
    Options("OPTIONS", "any") = Route::Options { .. },
    Mcp("POST", "/mcp"),
    Custom("", "own"),
    Docs("", "docs"),
    Admin("GET", "admin"),
}

impl RouteKind {
    /// Returns whether the route writes records. `SPEC §23.1`
    pub(crate) fn is_write(self) -> bool {
        use RouteKind::{Attach, Batch, Connect, Create, Delete, Disconnect, Remove, Update};
        matches!(self, Create | Update | Delete | Attach | Connect | Disconnect | Remove | Batch)
    }
}

/// The data that is reported about a request. One task writes it, and reads it at the end. The cells are thread-safe
/// because futures that borrow the record move between threads.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub(crate) start: Instant,
    /// The trace that the request belongs to.
    pub(crate) trace: Option<TraceContext>,
    route: OnceLock<RouteKind>,
    until_read: OnceLock<Duration>,
    read: OnceLock<ReadRecord>,
    session: OnceLock<Arc<Session>>,
    caller_kind: OnceLock<CallerKind>,
    error: OnceLock<ErrorRecord>,
    local: OnceLock<Arc<Principal>>,
    audit: Mutex<Option<Box<AuditDetails>>>,
}

/// The error of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorRecord {
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    /// The status of the error. The reply of a failed tool call has another status.
    pub(crate) status: StatusCode,
    /// What became of the write, if there was one.
    pub(crate) effect: Option<Effect>,
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
            route: OnceLock::new(),
            until_read: OnceLock::new(),
            read: OnceLock::new(),
            session: OnceLock::new(),
            caller_kind: OnceLock::new(),
            error: OnceLock::new(),
            local: OnceLock::new(),
            audit: Mutex::new(None),
        }
    }

    /// Sets the kind of route.
    pub(crate) fn set_route(&self, route: RouteKind) {
        let _ = self.route.set(route);
    }

    /// Returns the kind of route.
    pub(crate) fn route(&self) -> RouteKind {
        self.route.get().copied().unwrap_or(RouteKind::None)
    }

    /// Sets the session, and the kind of the caller unless it is already set.
    pub(crate) fn set_session(&self, kind: CallerKind, session: &Arc<Session>) {
        self.set_caller_kind(kind);
        let _ = self.session.set(Arc::clone(session));
    }

    /// Sets the kind of the caller.
    pub(crate) fn set_caller_kind(&self, kind: CallerKind) {
        let _ = self.caller_kind.set(kind);
    }

    /// Returns the user of the session.
    pub(crate) fn user(&self) -> Option<&str> {
        self.session.get().map(|session| session.user.as_str())
    }

    /// Returns the session.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.session.get()
    }

    /// Returns the kind of the caller.
    pub(crate) fn caller_kind(&self) -> Option<CallerKind> {
        self.caller_kind.get().copied()
    }

    /// Sets the kind, the session and the local principal of the caller, unless they are already set.
    pub(crate) fn set_caller(&self, caller: &Caller) {
        let Some(kind) = caller.kind() else { return };
        self.set_caller_kind(kind);
        if let Some(session) = caller.session() {
            let _ = self.session.set(Arc::clone(session));
        }
        if let (CallerKind::Local, Some(principal)) = (kind, caller.principal()) {
            let _ = self.local.set(principal);
        }
    }

    /// Returns the local principal, which all requests of this process have.
    pub(crate) fn local(&self) -> Option<&Principal> {
        self.local.get().map(|principal| &**principal)
    }

    /// Sets the error of the request.
    pub(crate) fn set_error(&self, error: &WireError) {
        let code = error.code.map(|code| code.as_str());
        let _ = self.error.set(ErrorRecord {
            kind: error.kind.as_str(),
            code,
            status: error.status,
            effect: error.effect,
        });
    }

    /// Returns the error of the request.
    pub(crate) fn error(&self) -> Option<ErrorRecord> {
        self.error.get().copied()
    }

    /// Changes the audit details of the request.
    pub(crate) fn add_audit_details(&self, change: impl FnOnce(&mut AuditDetails)) {
        change(self.audit.lock().get_or_insert_default());
    }

    /// Returns a part of the audit details of the request.
    pub(crate) fn with_audit_details<T: Default>(&self, read: impl FnOnce(&AuditDetails) -> T) -> T {
        self.audit.lock().as_deref().map(read).unwrap_or_default()
    }

    /// Records that the read starts. A request has at most one read.
    pub(crate) fn read_started(&self) {
        let _ = self.until_read.set(self.start.elapsed());
    }

    /// Records that the read has finished, and the number of its rows.
    pub(crate) fn read_finished(&self, rows: usize) {
        let until_start = self.until_read.get().copied().unwrap_or_default();
        let duration = self.start.elapsed().saturating_sub(until_start);
        let _ = self.read.set(ReadRecord { rows: rows as u64, until_start, duration });
    }

    /// Returns the read, if there was one.
    pub(crate) fn read(&self) -> Option<ReadRecord> {
        self.read.get().copied()
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
    fn route_kinds_have_distinct_labels() {
        let labels = RouteKind::ALL.iter().map(|(_, method, path)| (method, path));
        assert_eq!(labels.collect::<std::collections::HashSet<_>>().len(), RouteKind::ALL.len());
    }
}
