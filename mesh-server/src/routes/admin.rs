//! The admin pages beside the base path, and the gauges of an application.

use http::Response;
use mesh_wire::{BasePath, headers};

use crate::app::shared::Shared;
use crate::events::Hub;
use crate::integrity::Integrity;
use crate::observability::admin::Page;
use crate::observability::metrics::Exposition;
use crate::observability::record::RouteKind;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;

/// Answers `/healthz`, `/readyz` and `/metrics` if they are served beside the base path. Rate limits do not apply to
/// them. With the base path `/`, an entity of the same name has precedence.
pub(crate) async fn page(cx: &RequestContext<'_>) -> Option<Response<Body>> {
    let (shared, path) = (cx.shared, cx.uri.path());
    let (admin, page) = (shared.options.admin.as_ref()?, Page::from_path(path)?);
    if shared.options.base_path == BasePath::root()
        && shared.mesh.schema().find(path.trim_start_matches('/')).is_some()
    {
        return None;
    }
    cx.record.set_route(RouteKind::Admin);
    let mut reply = Box::pin(admin.show(page, cx.head.method, |out| write_gauges(shared, out))).await;
    reply.headers_mut().insert(&headers::REQUEST_ID, cx.head.request_id.value());
    Some(reply)
}

/// Writes the gauges of an application.
pub(crate) fn write_gauges(shared: &Shared, out: &mut Exposition) {
    let (streams, topics) = shared.hub.as_ref().map_or((0, 0), Hub::counts);
    out.gauge("mesh_event_streams", "Open event streams.", &[(&[], streams as f64)]);
    let help = "Shared readings of the open event streams.";
    out.gauge("mesh_event_topics", help, &[(&[], topics as f64)]);
    let clients = &shared.options.client_limits;
    let help = "Bytes of large responses that wait in memory for their readers.";
    out.gauge("mesh_unsent_bytes", help, &[(&[], clients.unread.bytes() as f64)]);
    let [connections, uploads, event_streams] = clients.max_per_address().map(|max| max as f64);
    let most = [
        (&[("held", "connections")][..], connections),
        (&[("held", "uploads")], uploads),
        (&[("held", "streams")], event_streams),
    ];
    out.gauge("mesh_client_most", "The most that one client address holds.", &most);
    let help = "Requests that wait for the database, a file or an upload.";
    out.gauge("mesh_requests_waiting", help, &[(&[], clients.waiting_requests() as f64)]);
    let (by_text, by_header) = (shared.mesh.plans_cached() as f64, shared.queries.header_plans.len() as f64);
    let entries = [(&[("cache", "text")][..], by_text), (&[("cache", "header")], by_header)];
    out.gauge("mesh_plans_cached", "Cached plans, by query text and by query header.", &entries);
    let [address, session] = shared.options.rates.refused();
    let login = shared.options.authenticator.integrity.as_ref().map_or(0, Integrity::refused_attempts);
    let by = [
        (&[("by", "address")][..], address as f64),
        (&[("by", "session")], session as f64),
        (&[("by", "login")], login as f64),
    ];
    out.counter("mesh_rate_limited_total", "Requests refused by rate limits.", &by);
}
