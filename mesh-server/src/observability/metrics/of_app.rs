//! What can an application tell of itself in numbers? What it holds at the moment.

use super::{Exposition, Metrics};
use crate::App;

impl App {
    /// The numbers of a server with those of this application.
    pub(crate) fn metrics_text(&self, metrics: &Metrics) -> String {
        let mut out = Exposition::default();
        metrics.write(&mut out);
        self.write_metrics(&mut out);
        out.into_text()
    }

    fn write_metrics(&self, out: &mut Exposition) {
        let shared = self.shared();
        let (streams, topics) = shared.open_streams();
        out.gauge("mesh_event_streams", "Streams of changes open now.", &[(&[], streams as f64)]);
        let help = "Distinct readings that the open streams share.";
        out.gauge("mesh_event_topics", help, &[(&[], topics as f64)]);
        let (planned, sent) = (shared.mesh.plans_cached() as f64, shared.plans.len() as f64);
        let entries = [(&[("cache", "text")][..], planned), (&[("cache", "header")], sent)];
        out.gauge("mesh_plans_cached", "Plans kept, by text and by undecoded header.", &entries);
        let [address, session] = shared.rates.refused();
        let login = shared.integrity.as_ref().map_or(0, |integrity| integrity.attempts.refused());
        let by = [
            (&[("by", "address")][..], address as f64),
            (&[("by", "session")], session as f64),
            (&[("by", "login")], login as f64),
        ];
        out.counter("mesh_rate_limited_total", "Requests refused for coming too often.", &by);
    }
}
