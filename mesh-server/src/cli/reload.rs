//! When is the schema read again? At SIGHUP, and when its file has changed. `SPEC §6`
//!
//! The new schema and all that hangs on it is made beside what serves, which goes on if there is any fault.
//! Settings are not read again, and what lies below the schema (pools, sessions, caches) stays as it is.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use mesh_server::{Check, Current};

use super::compose::Parts;
use super::source::Source;

/// How often the file is looked at. It is read when it looked the same twice, for whoever writes it may not be
/// done yet.
const INTERVAL: Duration = Duration::from_millis(500);

/// Replaces the application whenever there is a reason to.
pub(crate) struct Reload {
    parts: Parts,
    current: Current,
    hangup: Hangup,
    served: Option<Stamp>,
}

impl Reload {
    /// Hears signals from here on.
    pub(crate) fn new(parts: Parts, current: Current) -> Self {
        let served = parts.config().schema.as_deref().map(Stamp::of);
        Self { parts, current, hangup: Hangup::new(), served }
    }

    /// Never ends; to be spawned.
    pub(crate) async fn run(mut self) {
        let file = self.parts.config().schema.clone();
        let mut seen = self.served;
        loop {
            let asked = tokio::select! {
                () = self.hangup.next() => true,
                () = tokio::time::sleep(INTERVAL), if file.is_some() => false,
            };
            let now = file.as_deref().map(Stamp::of);
            let is_still = now == seen;
            seen = now;
            if asked || (is_still && now != self.served) {
                self.served = now;
                let reason = if asked { "SIGHUP" } else { "its file has changed" };
                let reloaded = reload(&self.parts, &self.current, reason).await;
                let faults = reloaded.err().unwrap_or_default();
                for fault in &faults {
                    tracing::error!("the new schema is not taken ({reason}), the old one serves: {fault}");
                }
                self.parts.health().tell("schema", check(faults.len()));
            }
        }
    }
}

/// What everybody may know of it; what the faults are stands in the log.
fn check(faults: usize) -> Check {
    if faults == 0 {
        return Check::Passed;
    }
    Check::Warned(format!("the new schema has {faults} faults, which the log names; the old one serves"))
}

/// Makes the new application and has it serve, or says what is wrong.
async fn reload(parts: &Parts, current: &Current, reason: &str) -> Result<(), Vec<String>> {
    let start = Instant::now();
    let made = async {
        let (schema, notes) = Source::again(parts.config(), parts.database()).await?;
        let entities = schema.entities().count();
        let app = parts.app(schema).map_err(|failure| vec![failure.to_string()])?;
        Ok::<_, Vec<String>>((app, entities, notes))
    };
    let (app, entities, notes) = made.await?;
    let made = start.elapsed();
    current.replace(app);
    let swapped = start.elapsed().saturating_sub(made);
    for note in notes {
        tracing::info!("{note}");
    }
    tracing::info!(entities, ?made, ?swapped, "a new schema serves ({reason})");
    Ok(())
}

/// How a file looks from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    changed: Option<SystemTime>,
    length: Option<u64>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        let changed = metadata.as_ref().and_then(|it| it.modified().ok());
        Self { changed, length: metadata.map(|it| it.len()) }
    }
}

/// Signals to read again.
#[cfg(unix)]
struct Hangup(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Hangup {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let heard = signal(SignalKind::hangup());
        Self(heard.inspect_err(|error| tracing::warn!("SIGHUP is not heard: {error}")).ok())
    }

    async fn next(&mut self) {
        let heard = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if heard.is_none() {
            std::future::pending().await
        }
    }
}

/// There is no such signal.
#[cfg(not(unix))]
struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
