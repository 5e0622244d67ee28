//! Metrics of what an application holds at the moment.

use super::shared::Shared;
use crate::events::Hub;
use crate::observability::metrics::Exposition;

/// Writes the gauges of an application.
pub(crate) fn write(shared: &Shared, out: &mut Exposition) {
    let (streams, topics) = shared.hub.as_ref().map_or((0, 0), Hub::counts);
    out.gauge("mesh_event_streams", "Open event streams.", &[(&[], streams as f64)]);
    let help = "Shared readings of the open event streams.";
    out.gauge("mesh_event_topics", help, &[(&[], topics as f64)]);
    let (by_text, by_header) = (shared.mesh.plans_cached() as f64, shared.header_plans.len() as f64);
    let entries = [(&[("cache", "text")][..], by_text), (&[("cache", "header")], by_header)];
    out.gauge("mesh_plans_cached", "Cached plans, by query text and by query header.", &entries);
    let [address, session] = shared.rates.refused();
    let login = shared.integrity.as_ref().map_or(0, |integrity| integrity.attempts.refused());
    let by = [
        (&[("by", "address")][..], address as f64),
        (&[("by", "session")], session as f64),
        (&[("by", "login")], login as f64),
    ];
    out.counter("mesh_rate_limited_total", "Requests refused by rate limits.", &by);
}
