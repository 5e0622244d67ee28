//! Can this server do its work? Named checks, told by whoever knows or asked for when somebody wants to know.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mesh_plan::BoxFuture;
use serde_json::{Value, json};

/// How long what was found out counts. Whoever asks more often learns the same, and the database does not notice.
const FRESH: Duration = Duration::from_secs(1);
/// How long one check may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a check has found. The words are shown to whoever reaches `/readyz`, so they name no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// All is well.
    Passed,
    /// The server works, but somebody should look: a new schema is faulty and the one of before is served on.
    Warned(String),
    /// The server cannot do its work, and requests are better sent to another.
    Failed(String),
}

/// Finds out how something is.
type Probe = Arc<dyn Fn() -> BoxFuture<'static, Check> + Send + Sync>;

/// The checks of one server. Cheap to clone; all clones are one.
///
/// ```
/// use mesh_server::{Check, Health};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let health = Health::new();
/// health.tell("schema", Check::Warned("line 3: no such table; the schema of before is served".to_owned()));
/// assert!(health.report().await.is_ready());
/// health.tell("schema", Check::Passed);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Health {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    told: Mutex<BTreeMap<String, Check>>,
    probes: Mutex<BTreeMap<String, Probe>>,
    /// Held while somebody asks, so that others wait for the same answer.
    last: tokio::sync::Mutex<Option<(Instant, BTreeMap<String, Check>)>>,
}

impl Health {
    /// No checks, which is ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says how something is, until something else is said under the same name.
    pub fn tell(&self, name: &str, check: Check) {
        locked(&self.shared.told).insert(name.to_owned(), check);
    }

    /// Has something looked at when somebody wants to know: at most once a second, for at most two.
    pub fn ask(&self, name: &str, probe: impl Fn() -> BoxFuture<'static, Check> + Send + Sync + 'static) {
        locked(&self.shared.probes).insert(name.to_owned(), Arc::new(probe));
    }

    /// How everything is now.
    pub async fn report(&self) -> Report {
        let mut checks = self.asked().await;
        checks.extend(locked(&self.shared.told).clone());
        Report { checks }
    }

    async fn asked(&self) -> BTreeMap<String, Check> {
        let mut last = self.shared.last.lock().await;
        if let Some((at, checks)) = &*last
            && at.elapsed() < FRESH
        {
            return checks.clone();
        }
        let probes = locked(&self.shared.probes).clone();
        let asking = probes.into_iter().map(|(name, probe)| async move {
            let found = tokio::time::timeout(PATIENCE, probe()).await;
            (name, found.unwrap_or_else(|_| Check::Failed(format!("no answer within {PATIENCE:?}"))))
        });
        let checks: BTreeMap<_, _> = futures_util::future::join_all(asking).await.into_iter().collect();
        *last = Some((Instant::now(), checks.clone()));
        checks
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("told", &*locked(&self.shared.told)).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How everything is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Each check by its name.
    pub checks: BTreeMap<String, Check>,
}

impl Report {
    /// Whether no check has failed.
    pub fn is_ready(&self) -> bool {
        !self.checks.values().any(|check| matches!(check, Check::Failed(_)))
    }

    /// The body of `/readyz`.
    pub fn to_json(&self) -> Value {
        let checks: serde_json::Map<String, Value> = self
            .checks
            .iter()
            .map(|(name, check)| {
                let shown = match check {
                    Check::Passed => json!({"status": "passed"}),
                    Check::Warned(why) => json!({"status": "warned", "message": why}),
                    Check::Failed(why) => json!({"status": "failed", "message": why}),
                };
                (name.clone(), shown)
            })
            .collect();
        json!({"ready": self.is_ready(), "checks": checks})
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn only_failures_are_in_the_way() {
        let health = Health::new();
        assert_eq!(health.report().await.to_json(), json!({"ready": true, "checks": {}}));
        health.tell("schema", Check::Warned("old".to_owned()));
        assert!(health.report().await.is_ready());
        health.tell("server", Check::Failed("stopping".to_owned()));
        let report = health.report().await;
        let expected = json!({"ready": false, "checks": {
            "schema": {"status": "warned", "message": "old"},
            "server": {"status": "failed", "message": "stopping"},
        }});
        assert_eq!(report.to_json(), expected);
        health.tell("server", Check::Passed);
        assert!(health.report().await.is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_ask_at_once_cost_one_look_and_none_waits_for_ever() {
        let health = Health::new();
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        health.ask("database", move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Check::Passed })
        });
        for _ in 0..100 {
            assert!(health.report().await.is_ready());
        }
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        let stuck = Health::new();
        stuck.ask("database", || Box::pin(std::future::pending()));
        let report = stuck.report().await;
        assert_eq!(report.checks["database"], Check::Failed("no answer within 2s".to_owned()));
    }
}
