//! The record of a request, from which metrics, the access log and `Server-Timing` are written.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_integrity::Session;
use mesh_plan::Principal;
use mesh_wire::{Route, WireError};
use parking_lot::{Mutex, MutexGuard};

use crate::identity::caller::{Caller, Evidence};
use crate::observability::audit::details::AuditDetails;
use crate::observability::trace_context::TraceContext;

/// Defines the kinds of routes: each with its method, its path without the base, and the protocol routes that it covers.
macro_rules! route_kinds {
    ($($(#[$meta:meta])* $kind:ident($method:literal, $path:literal) $(= $route:pat)?,)+) => {
        /// The kind of route that answers a request. It does not contain the names in the path, because it is a label
        /// of metrics, which should have few values.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) enum RouteKind {
            $($(#[$meta])* $kind,)+
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
    #[default]
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

/// The record of a request that is being answered.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub(crate) start: Instant,
    /// The trace that the request belongs to.
    pub(crate) trace: Option<TraceContext>,
    facts: Mutex<Facts>,
}

/// What is reported about a request when it ends.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) route: RouteKind,
    pub(crate) read: Option<ReadRecord>,
    /// The name of the means by which the caller was identified.
    pub(crate) caller: Option<&'static str>,
    pub(crate) session: Option<Arc<Session>>,
    /// The principal that all requests of this process have.
    pub(crate) local: Option<Arc<Principal>>,
    /// The first error. The reply of a failed tool call has another status.
    pub(crate) error: Option<Box<WireError>>,
    pub(crate) audit: Option<Box<AuditDetails>>,
}

/// A read that has finished. A request has at most one.
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
        Self { start: Instant::now(), trace, facts: Mutex::default() }
    }

    /// Locks the facts. Only one task uses them; the lock lets futures that borrow the record move between threads.
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock()
    }

    /// Sets the kind of route.
    pub(crate) fn set_route(&self, route: RouteKind) {
        self.facts().route = route;
    }

    /// Sets what is known about the caller.
    pub(crate) fn set_caller(&self, caller: &Caller) {
        let Some(evidence) = caller.evidence() else { return };
        let mut facts = self.facts();
        facts.caller = Some(evidence.name());
        facts.session = caller.session().cloned();
        facts.local = caller.principal().filter(|_| matches!(evidence, Evidence::Local));
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
