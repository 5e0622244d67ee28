//! Reloads of the schema, on SIGHUP and when its file changes. `SPEC §6`
//!
//! The new application is built while the old one serves, and replaces it if there are no faults. If only the database
//! was unavailable, the reload is tried again. Settings, connection pools, sessions and caches are kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::Change;
use mesh_server::{Check, Current, regular_file};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::cli::server::app_factory::AppFactory;
use crate::cli::server::data_source::{DataSource, LoadError};

/// How often the file is checked. A change is loaded once two checks agree, because the file may be written in steps.
const INTERVAL: Duration = Duration::from_millis(500);

/// The first delay before a retry; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The longest delay before a retry.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// Replaces the application when the schema changes.
pub(crate) struct SchemaReload {
    factory: AppFactory,
    current: Current,
    hangups: Arc<Notify>,
    served: Option<regular_file::Stamp>,
}

impl SchemaReload {
    /// Registers for SIGHUP.
    pub(crate) fn new(factory: AppFactory, current: Current) -> Self {
        let served = factory.config.schema.as_deref().and_then(regular_file::stamp);
        Self { factory, current, hangups: hangups(), served }
    }

    /// Runs until the task is dropped.
    pub(crate) async fn run(mut self) {
        let file = self.factory.config.schema.clone();
        let mut seen = self.served;
        let mut retry = Retry::default();
        loop {
            let reason = tokio::select! {
                () = self.hangups.notified() => Some("SIGHUP"),
                () = retry.due() => Some("retry"),
                () = tokio::time::sleep(INTERVAL), if file.is_some() => None,
            };
            let now = file.as_deref().and_then(regular_file::stamp);
            let is_still = now == seen;
            seen = now;
            let changed = (is_still && now != self.served).then_some("its file changed");
            if let Some(reason) = reason.or(changed) {
                self.served = now;
                let reloaded = reload(&self.factory, &self.current, reason).await;
                self.factory.admin.health.set("schema", check(&reloaded));
                let refuse = |why: &str| {
                    tracing::error!(
                        "the new schema was rejected ({reason}); the old one stays in use: {why}"
                    );
                };
                match reloaded {
                    Err(LoadError::Unavailable(why)) => {
                        let delay = retry.schedule();
                        refuse(&format!("{why}; retrying in {delay:?}"));
                    }
                    Err(LoadError::Faults(faults)) => {
                        retry = Retry::default();
                        faults.iter().for_each(|fault| refuse(fault));
                    }
                    Ok(()) => retry = Retry::default(),
                }
            }
        }
    }
}

/// Returns the health check of a reload. The check is public, so the faults themselves are only in the log.
fn check(reloaded: &Result<(), LoadError>) -> Check {
    match reloaded {
        Ok(()) => Check::Passed,
        Err(LoadError::Unavailable(_)) => Check::Warned(
            "the database was unavailable for the new schema; the old one stays in use".to_owned(),
        ),
        Err(LoadError::Faults(faults)) => {
            let faults = faults.len();
            Check::Warned(format!(
                "the new schema has {faults} faults, see the log; the old one stays in use"
            ))
        }
    }
}

/// The time of the next retry and the delay before it, if one is scheduled.
#[derive(Debug, Default)]
struct Retry(Option<(tokio::time::Instant, Duration)>);

impl Retry {
    /// Schedules a retry with a longer delay each time, and returns the delay.
    fn schedule(&mut self) -> Duration {
        let delay = self.0.map_or(FIRST_DELAY, |(_, before)| before.saturating_mul(2).min(LONGEST_DELAY));
        self.0 = Some((tokio::time::Instant::now() + delay, delay));
        delay
    }

    /// Completes when the retry is due; never if none is scheduled.
    async fn due(&self) {
        match self.0 {
            Some((at, _)) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Builds the new application and puts it into use.
async fn reload(factory: &AppFactory, current: &Current, reason: &str) -> Result<(), LoadError> {
    let start = Instant::now();
    let build = async {
        let (schema, notes) = DataSource::reload(&factory.config, factory.database.as_ref()).await?;
        let entities = schema.entities().count();
        let app = factory.app(schema)?;
        Ok::<_, LoadError>((app, entities, notes))
    };
    let (app, entities, notes) = build.await?;
    let built = start.elapsed();
    current.replace(app);
    // Replies that caches have stored may have another shape.
    factory.options.changes.notify(Change::anything());
    let swapped = start.elapsed().saturating_sub(built);
    for note in notes {
        tracing::info!("{note}");
    }
    tracing::info!(entities, ?built, ?swapped, "the new schema is in use ({reason})");
    Ok(())
}

/// Returns a notification for each SIGHUP, on systems that have it.
fn hangups() -> Arc<Notify> {
    let hangups = Arc::new(Notify::new());
    #[cfg(unix)]
    match signal(SignalKind::hangup()) {
        Ok(mut signals) => {
            let notify = Arc::clone(&hangups);
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    notify.notify_one();
                }
            });
        }
        Err(error) => tracing::warn!("cannot listen for SIGHUP: {error}"),
    }
    hangups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_double_up_to_a_maximum() {
        let mut retry = Retry::default();
        let delays: Vec<u64> = (0..9).map(|_| retry.schedule().as_millis() as u64).collect();
        assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    }
}
