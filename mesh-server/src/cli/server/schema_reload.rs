//! When is the schema read again? At SIGHUP, and when its file has changed. `SPEC §6`
//!
//! The new schema and all that hangs on it is made beside what serves, which goes on if there is any fault. Where it
//! is only the database that cannot be looked at, it is tried again, since nobody may come to ask for it.
//! Settings are not read again, and what lies below the schema (pools, sessions, caches) stays as it is.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use mesh_server::{Check, Current};

use crate::cli::server::app_factory::Parts;
use crate::cli::server::data_source::{Source, Unread};

/// How often the file is looked at. It is read when it looked the same twice, for whoever writes it may not be
/// done yet.
const INTERVAL: Duration = Duration::from_millis(500);

/// The first wait before the database is looked at again; each one after it is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest one.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

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
        let mut retry = Retry::default();
        loop {
            let reason = tokio::select! {
                () = self.hangup.next() => Some("SIGHUP"),
                () = retry.due() => Some("tried again"),
                () = tokio::time::sleep(INTERVAL), if file.is_some() => None,
            };
            let now = file.as_deref().map(Stamp::of);
            let is_still = now == seen;
            seen = now;
            let changed = (is_still && now != self.served).then_some("its file has changed");
            if let Some(reason) = reason.or(changed) {
                self.served = now;
                let reloaded = reload(&self.parts, &self.current, reason).await;
                self.parts.health().set("schema", check(&reloaded));
                let refuse = |why: &str| {
                    tracing::error!("the new schema is not taken ({reason}), the old one serves: {why}");
                };
                match reloaded {
                    Err(Unread::Away(why)) => {
                        let wait = retry.later();
                        refuse(&format!("{why}; it is tried again in {wait:?}"));
                    }
                    Err(Unread::Faults(faults)) => {
                        retry = Retry::default();
                        faults.iter().for_each(|fault| refuse(fault));
                    }
                    Ok(()) => retry = Retry::default(),
                }
            }
        }
    }
}

/// What everybody may know of it; what the faults are stands in the log.
fn check(reloaded: &Result<(), Unread>) -> Check {
    match reloaded {
        Ok(()) => Check::Passed,
        Err(Unread::Away(_)) => Check::Warned(
            "the database could not be looked at for the new schema; the old one serves".to_owned(),
        ),
        Err(Unread::Faults(faults)) => {
            let faults = faults.len();
            Check::Warned(format!(
                "the new schema has {faults} faults, which the log names; the old one serves"
            ))
        }
    }
}

/// When the database is looked at again, if it has to be.
#[derive(Debug, Default)]
struct Retry(Option<(tokio::time::Instant, Duration)>);

impl Retry {
    /// Puts it off, for longer each time, and says for how long.
    fn later(&mut self) -> Duration {
        let wait = self.0.map_or(FIRST_WAIT, |(_, before)| before.saturating_mul(2).min(LONGEST_WAIT));
        self.0 = Some((tokio::time::Instant::now() + wait, wait));
        wait
    }

    /// Ends when it is time, and never where there is nothing to wait for.
    async fn due(&self) {
        match self.0 {
            Some((at, _)) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Makes the new application and has it serve, or says what is wrong.
async fn reload(parts: &Parts, current: &Current, reason: &str) -> Result<(), Unread> {
    let start = Instant::now();
    let made = async {
        let (schema, notes) = Source::again(parts.config(), parts.database()).await?;
        let entities = schema.entities().count();
        let app = parts.app(schema).map_err(|failure| vec![failure.to_string()])?;
        Ok::<_, Unread>((app, entities, notes))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_growing() {
        let mut retry = Retry::default();
        let waits: Vec<u64> = (0..9).map(|_| retry.later().as_millis() as u64).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    }
}
