//! Requests to read the keys of an issuer again, because a token names an unknown one.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

/// The shortest time between two reads that unknown keys cause. Anyone can name an unknown key.
const INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of requests that wait for a read. They hold no permit of other work, so they do not delay it.
#[cfg(any(test, feature = "jwks"))]
const WAITING: usize = 64;

/// The result of a request to read the keys again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefreshOutcome {
    /// A read has ended.
    Read,
    /// The keys were read a short time ago.
    TooSoon,
    /// Too many requests wait for the read that is under way.
    Busy,
}

/// Connects requests that name an unknown key with the task that reads the keys.
#[derive(Debug)]
pub(super) struct Refresh {
    state: Mutex<State>,
    wake: Notify,
    waiting: Semaphore,
    /// Counts the reads that have ended.
    reads: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    /// Whether a read was requested and has not ended.
    pending: bool,
}

impl Refresh {
    #[cfg(any(test, feature = "jwks"))]
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            wake: Notify::new(),
            waiting: Semaphore::new(WAITING),
            reads: watch::Sender::new(0),
        }
    }

    /// Requests a read and waits until it ends, or until a read that was requested earlier ends. At most one read a minute is
    /// started.
    pub(super) async fn request(&self) -> RefreshOutcome {
        let mut reads = {
            let mut state = self.state.lock();
            if !state.pending {
                if state.last.is_some_and(|last| last.elapsed() < INTERVAL) {
                    return RefreshOutcome::TooSoon;
                }
                *state = State { last: Some(Instant::now()), pending: true };
                self.wake.notify_one();
            }
            self.reads.subscribe()
        };
        let Ok(_waits) = self.waiting.try_acquire() else { return RefreshOutcome::Busy };
        match reads.changed().await {
            Ok(()) => RefreshOutcome::Read,
            Err(_) => RefreshOutcome::TooSoon,
        }
    }

    /// Wakes the task so that it ends.
    pub(super) fn close(&self) {
        self.wake.notify_one();
    }

    /// Waits for a request.
    #[cfg(any(test, feature = "jwks"))]
    pub(super) async fn requested(&self) {
        self.wake.notified().await;
    }

    /// Announces the end of a read.
    #[cfg(any(test, feature = "jwks"))]
    pub(super) fn finish(&self) {
        self.state.lock().pending = false;
        self.reads.send_modify(|reads| *reads += 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unknown_keys_cause_one_read_a_minute() {
        let refresh = Arc::new(Refresh::new());
        let (first, second) = (refresh.request(), refresh.request());
        let mut both = Box::pin(futures_util::future::join(first, second));
        assert!(both.as_mut().now_or_never().is_none());
        assert!(refresh.requested().now_or_never().is_some());
        assert!(refresh.requested().now_or_never().is_none(), "one read for both");
        refresh.finish();
        assert_eq!(both.now_or_never(), Some((RefreshOutcome::Read, RefreshOutcome::Read)));
        assert_eq!(refresh.request().now_or_never(), Some(RefreshOutcome::TooSoon), "within the minute");
        tokio::time::advance(INTERVAL).await;
        let mut third = Box::pin(refresh.request());
        assert!(third.as_mut().now_or_never().is_none());
        assert!(refresh.requested().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_bounded_number_of_requests_waits() {
        let refresh = Refresh::new();
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(refresh.request())).collect();
        assert!(waiting.iter_mut().all(|request| request.as_mut().now_or_never().is_none()));
        assert_eq!(refresh.request().now_or_never(), Some(RefreshOutcome::Busy));
        refresh.finish();
        assert!(waiting.into_iter().all(|request| request.now_or_never() == Some(RefreshOutcome::Read)));
    }
}
