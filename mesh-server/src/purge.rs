//! Purges: shared caches are notified of the replies that a change has made stale.
//!
//! Each cache has a task that listens for changes and sends their tags. Writes never wait for it. Changes that arrive during
//! a purge are sent together by the next one, and a purge that fails is repeated with all that has changed since, so no change
//! is lost while the server runs. Changes from before its start are covered by a first purge of everything.

mod pending;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::HeaderMap;
use http_body_util::Full;
use mesh_plan::Changes;
use mesh_plan::change::Listener;
use mesh_wire::response::{CacheTags, TagHeader};
use parking_lot::Mutex;
use serde_json::json;

use crate::https_client::{HttpUrl, HttpsClient};
use crate::observability::error_log::with_causes;
use crate::observability::metrics::Metrics;
use crate::pipeline::body::BoxError;
use crate::{App, Current};
use pending::Pending;

/// The time limit for a purge.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The first delay before a failed purge is repeated; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest delay before a failed purge is repeated.
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Notifies shared caches of changes. The tags are those that [`Caching::tags`](crate::Caching::tags) adds to replies.
///
/// A purge is a POST to the URL of the cache. The tags of the stale replies are in a header and in the body, as
/// `{"surrogate_keys": [...]}` or `{"tags": [...]}`. Any successful status confirms the purge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Purge {
    /// The URLs of the caches.
    pub urls: Vec<HttpUrl>,
    /// The headers of each purge, such as a credential.
    pub headers: HeaderMap,
    /// The header of the tags, which also determines their name in the body.
    pub tags: TagHeader,
    /// The minimum time between two purges of a cache. Changes in between are sent together.
    pub interval: Duration,
}

impl Purge {
    /// The default minimum time between two purges of a cache.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// Creates purges of the caches at these URLs.
    pub fn new(urls: Vec<HttpUrl>) -> Self {
        Self { urls, headers: HeaderMap::new(), tags: TagHeader::SurrogateKey, interval: Self::INTERVAL }
    }

    /// Starts a task for each cache, which first purges everything. The tasks end with the runtime.
    ///
    /// # Panics
    /// There is no current tokio runtime.
    pub fn start(self, current: &Current, changes: &Changes, metrics: &Metrics) {
        let counters: Vec<(String, Arc<Counters>)> =
            self.urls.iter().map(|url| (url.to_string(), Arc::default())).collect();
        for (url, (_, counters)) in self.urls.iter().zip(&counters) {
            let (url, counters) = (url.clone(), Arc::clone(counters));
            let task = Task { url, purge: self.clone(), counters, current: current.clone() };
            tokio::spawn(task.run(changes.listen()));
        }
        metrics.add(move |out| {
            let labels: Vec<_> = counters.iter().map(|(url, _)| [("cache", url.as_str())]).collect();
            let samples = |value: fn(&Counters) -> f64| -> Vec<_> {
                let values = counters.iter().map(|(_, counters)| value(counters));
                labels.iter().map(|labels| &labels[..]).zip(values).collect()
            };
            let sent = samples(|counters| counters.sent.load(Ordering::Relaxed) as f64);
            out.counter("mesh_purges_total", "Purges that a cache has confirmed.", &sent);
            let failed = samples(|counters| counters.failed.load(Ordering::Relaxed) as f64);
            out.counter("mesh_purge_failures_total", "Purges that failed and are repeated.", &failed);
            let help = "Age of the oldest change that a cache was not notified of; 0 if there is none.";
            let lag =
                samples(|counters| counters.since.lock().map_or(0.0, |since| since.elapsed().as_secs_f64()));
            out.gauge("mesh_purge_lag_seconds", help, &lag);
        });
    }
}

/// The counters of one cache.
#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    failed: AtomicU64,
    /// When the server noticed the oldest change of which the cache has not been notified.
    since: Mutex<Option<Instant>>,
}

/// The purges of one cache.
struct Task {
    url: HttpUrl,
    purge: Purge,
    counters: Arc<Counters>,
    current: Current,
}

impl Task {
    async fn run(self, mut changes: Listener) {
        let client = match HttpsClient::new(&self.url.0) {
            Ok(client) => client,
            Err(error) => return tracing::error!("caches cannot be purged: {error}"),
        };
        let mut pending = Pending::everything();
        let mut delay = None;
        loop {
            if pending.is_empty() {
                let Some(change) = changes.next().await else { return };
                pending.add(change);
            }
            while let Some(change) = changes.try_next() {
                pending.add(change);
            }
            self.counters.since.lock().get_or_insert_with(Instant::now);
            match self.send(&client, &self.tags_of(&pending)).await {
                Ok(()) => {
                    self.counters.sent.fetch_add(1, Ordering::Relaxed);
                    *self.counters.since.lock() = None;
                    if delay.take().is_some() {
                        tracing::info!("the cache can be purged again at {}", self.url);
                    }
                    pending = Pending::default();
                    tokio::time::sleep(self.purge.interval).await;
                }
                Err(error) => {
                    self.counters.failed.fetch_add(1, Ordering::Relaxed);
                    // The failure is logged once per outage, because an outage may be long.
                    if delay.is_none() {
                        tracing::warn!(
                            "purging the cache at {} failed: {}; it may send stale responses until they expire or a later \
                             purge succeeds",
                            self.url,
                            with_causes(&*error)
                        );
                    }
                    let longer = delay.map_or(FIRST_DELAY, |delay: Duration| delay.saturating_mul(2));
                    tokio::time::sleep(*delay.insert(longer.min(LONGEST_DELAY))).await;
                }
            }
        }
    }

    /// Returns the tags of the replies that the changes have made stale.
    fn tags_of(&self, pending: &Pending) -> Vec<String> {
        let App { shared } = self.current.get();
        pending.tags(&CacheTags::new(&shared.options.base_path), shared.mesh.schema())
    }

    async fn send(&self, client: &HttpsClient<Full<Bytes>>, tags: &[String]) -> Result<(), BoxError> {
        let body = json!({self.purge.tags.member(): tags}).to_string();
        let mut headers = self.purge.headers.clone();
        headers.insert(self.purge.tags.name(), self.purge.tags.value(tags));
        client.post_json(&self.url.0, headers, body, TIMEOUT).await?;
        tracing::debug!(tags = tags.len(), "purged {}", self.url);
        Ok(())
    }
}
