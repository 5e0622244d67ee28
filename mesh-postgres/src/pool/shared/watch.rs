//! Removal of shared connections that are closed, idle, or do not answer.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{SharedLink, SharedLinks};

/// The interval of the checks.
const INTERVAL: Duration = Duration::from_millis(250);
/// The number of consecutive checks without an answer after which a connection is given up. PostgreSQL ends each
/// statement much earlier.
const STALLED_CHECKS: u32 = 4;

/// The result of a check.
#[derive(PartialEq, Eq)]
enum State {
    Used,
    Idle,
    Stalled,
}

/// Checks a connection in the background until it is removed.
pub(super) fn start(links: Weak<SharedLinks>, link: Weak<SharedLink>, idle_timeout: Duration) {
    tokio::spawn(async move {
        let (mut before, mut answered, mut checks) = (State::Used, 0, 0);
        loop {
            tokio::time::sleep(INTERVAL).await;
            let (Some(links), Some(link)) = (links.upgrade(), link.upgrade()) else { return };
            let now = link.answered.load(Ordering::Relaxed);
            let state = match link.depth() {
                _ if now != answered => State::Used,
                0 => State::Idle,
                _ => State::Stalled,
            };
            checks = if state == before { checks + 1 } else { 1 };
            let is_stalled = state == State::Stalled && checks >= STALLED_CHECKS;
            let is_idle = state == State::Idle && INTERVAL * checks >= idle_timeout;
            if is_stalled {
                tracing::debug!("a shared connection to the database does not answer");
                link.link.abort();
            }
            if is_stalled || is_idle || link.link.is_closed() {
                links.remove(&link);
                return;
            }
            (before, answered) = (state, now);
        }
    });
}
