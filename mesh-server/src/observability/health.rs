//! Named health checks. Their states are set directly or by probes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::BoxFuture;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

/// How long the results of probes are reused, so that frequent requests do not load the database.
const MAX_AGE: Duration = Duration::from_secs(1);
/// Time limit for a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The state of a check. Messages are public at `/readyz`, so they must not contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "message", rename_all = "lowercase")]
pub enum Check {
    /// The check passed.
    Passed,
    /// The server works, but needs attention: for example, a changed schema is invalid and the previous one is served.
    Warned(String),
    /// The server cannot serve requests.
    Failed(String),
}

/// A function that returns the state of a check.
type Probe = Arc<dyn Fn() -> BoxFuture<'static, Check> + Send + Sync>;

/// The checks of one server, none by default. Clones share the same checks.
///
/// ```
/// use mesh_server::{Check, Health};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let health = Health::default();
/// health.set("schema", Check::Warned("line 3: no such table; the previous schema is served".to_owned()));
/// assert!(health.report().await.is_ready());
/// health.set("schema", Check::Passed);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Health {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    states: Mutex<BTreeMap<String, Check>>,
    probes: Mutex<BTreeMap<String, Probe>>,
    /// Locked while the probes run, so that concurrent requests wait for the same results.
    probed: tokio::sync::Mutex<Option<(Instant, BTreeMap<String, Check>)>>,
}

impl Health {
    /// Sets the state of a check.
    pub fn set(&self, name: &str, check: Check) {
        self.shared.states.lock().insert(name.to_owned(), check);
    }

    /// Adds a probe. It runs when a report is requested, at most once a second and for at most two seconds.
    pub fn probe(&self, name: &str, probe: impl Fn() -> BoxFuture<'static, Check> + Send + Sync + 'static) {
        self.shared.probes.lock().insert(name.to_owned(), Arc::new(probe));
    }

    /// Returns the states of all checks.
    pub async fn report(&self) -> Report {
        let mut checks = self.run_probes().await;
        checks.extend(self.shared.states.lock().clone());
        Report { checks }
    }

    async fn run_probes(&self) -> BTreeMap<String, Check> {
        let mut probed = self.shared.probed.lock().await;
        if let Some((time, checks)) = &*probed
            && time.elapsed() < MAX_AGE
        {
            return checks.clone();
        }
        let probes = self.shared.probes.lock().clone();
        let results = probes.into_iter().map(|(name, probe)| async move {
            let result = tokio::time::timeout(PROBE_TIMEOUT, probe()).await;
            (name, result.unwrap_or_else(|_| Check::Failed(format!("no answer within {PROBE_TIMEOUT:?}"))))
        });
        let checks: BTreeMap<_, _> = futures_util::future::join_all(results).await.into_iter().collect();
        *probed = Some((Instant::now(), checks.clone()));
        checks
    }
}

opaque_debug!(Health);

/// The states of all checks at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The states by the names of the checks.
    pub checks: BTreeMap<String, Check>,
}

impl Report {
    /// Returns whether no check has failed.
    pub fn is_ready(&self) -> bool {
        !self.checks.values().any(|check| matches!(check, Check::Failed(_)))
    }

    /// Returns the body of `/readyz`.
    pub fn to_json(&self) -> Value {
        json!({"ready": self.is_ready(), "checks": self.checks})
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn only_failures_make_a_server_unready() {
        let health = Health::default();
        assert_eq!(health.report().await.to_json(), json!({"ready": true, "checks": {}}));
        health.set("schema", Check::Warned("old".to_owned()));
        assert!(health.report().await.is_ready());
        health.set("server", Check::Failed("stopping".to_owned()));
        let report = health.report().await;
        let expected = json!({"ready": false, "checks": {
            "schema": {"status": "warned", "message": "old"},
            "server": {"status": "failed", "message": "stopping"},
        }});
        assert_eq!(report.to_json(), expected);
        health.set("server", Check::Passed);
        assert!(health.report().await.is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn probes_run_once_a_second_and_time_out() {
        let health = Health::default();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        health.probe("database", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Check::Passed })
        });
        for _ in 0..100 {
            assert!(health.report().await.is_ready());
        }
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        let stuck = Health::default();
        stuck.probe("database", || Box::pin(std::future::pending()));
        let report = stuck.report().await;
        assert_eq!(report.checks["database"], Check::Failed("no answer within 2s".to_owned()));
    }
}
