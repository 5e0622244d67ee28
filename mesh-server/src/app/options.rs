//! The options of an application.

use std::sync::Arc;

use mesh_docs::Options;
use mesh_plan::persisted::Persisted;
use mesh_plan::{Changes, Principal};
use mesh_wire::request::AllowedHosts;
use mesh_wire::{BasePath, Cors};

use super::caching::Caching;
use super::exports::Exports;
use super::fallback::Fallback;
use super::limits::TransportLimits;
use crate::clients::ClientLimits;
use crate::events::Events;
use crate::identity::authenticator::RequestAuthenticator;
#[cfg(feature = "mcp")]
use crate::mcp::Mcp;
use crate::observability::admin::Admin;
use crate::observability::audit::AuditLog;
use crate::observability::metrics::Metrics;
#[cfg(feature = "otlp")]
use crate::observability::otlp::Spans;
use crate::rates::Rates;
use crate::rates::client_address::Proxies;
use crate::uploads::Uploads;

/// The options of an [`App`](crate::App). Clones share limits, caches and logs, so pass clones of one value to applications that replace
/// each other.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// The base path, `/mesh` by default.
    pub base_path: BasePath,
    /// The limits of the transport.
    pub limits: TransportLimits,
    /// The rate limits. `SPEC §12.6`
    pub rates: Rates,
    /// The limits on the resources that clients may hold at a time. `SPEC §12.6`
    pub client_limits: ClientLimits,
    /// The proxies whose `X-Forwarded-For` is trusted. `SPEC §12.1`
    pub trusted_proxies: Proxies,
    /// The server names that requests may have in `Host`; by default, any name is accepted. `SPEC §2.13`
    pub allowed_hosts: AllowedHosts,
    /// How callers identify themselves. By default, all requests are accepted. `SPEC §7`, `SPEC §17`
    pub authenticator: RequestAuthenticator,
    /// The principal of all requests, for an application that serves one client of this process and no network. It has no
    /// effect if callers have to identify themselves.
    pub local_principal: Option<Principal>,
    /// The metrics that count the requests; those of `admin` if there are none.
    pub metrics: Option<Metrics>,
    /// Serves `/healthz`, `/readyz` and `/metrics` beside the base path, without authentication. [`Admin::serve`] serves them
    /// on an address of their own instead.
    pub admin: Option<Admin>,
    /// The audit log.
    pub audit: Option<AuditLog>,
    /// Whether replies to reads have the header `Server-Timing`.
    pub server_timing: bool,
    /// Sends a span for each request to a collector.
    #[cfg(feature = "otlp")]
    pub spans: Option<Spans>,
    /// The registered queries, which must have been checked against the same [`Mesh`](mesh_plan::Mesh). `SPEC §8`
    pub persisted: Option<Arc<Persisted>>,
    /// Whether there are write routes, for the fields that the schema declares writable. `SPEC §11`
    pub mutations: bool,
    /// Accepts files for the fields that the schema declares under `uploads`. `SPEC §9`
    pub uploads: Option<Uploads>,
    /// The channel on which changes are announced, for writers outside of this application.
    pub changes: Changes,
    /// Serves event streams of these changes. `SPEC §10`
    pub events: Option<Events>,
    /// Serves exports of collections as NDJSON and CSV. `SPEC §16`
    pub exports: Option<Exports>,
    /// The origins of pages that may send requests. `SPEC §12.5`
    pub cors: Option<Cors>,
    /// How long caches may keep replies to reads by GET. Replies that depend on the caller, because callers identify
    /// themselves or because of policies, are always private. `SPEC §12.3`
    pub caching: Caching,
    /// Serves the playground and the introspection, beside the base path. `SPEC §13`
    pub docs: Option<Options>,
    /// Serves tools for agents at `mcp` under the base path, with the Model Context Protocol.
    #[cfg(feature = "mcp")]
    pub mcp: Option<Mcp>,
    /// The service that answers requests to paths outside of the base path and of the docs surface.
    pub fallback: Option<Fallback>,
}
