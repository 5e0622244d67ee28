//! Requests to read the keys of an issuer again, because a token names an unknown one.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

/// The number of reads that unknown keys may cause at once after a pause. One unknown key must not delay the keys of a
/// rotation.
const BURST: u32 = 2;
/// The time between further reads that unknown keys cause: the time after which a new key is accepted while others name
/// unknown ones all the time. Anyone can name an unknown key.
const INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of requests that wait for a read. They hold no permit of other work, so they do not delay it.
#[cfg(any(test, feature = "jwks"))]
const WAITING: usize = 64;

/// The result of a request to read the keys again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefreshOutcome {
    /// A read has ended.
    Read,
    /// The keys cannot be read again.
    Fixed,
    /// Too many requests wait for the next read.
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
    /// When the last requested read would have been due if reads were evenly spaced. A read may be early by the burst.
    last: Option<Instant>,
    /// When to read, if a read was requested and has not ended.
    due: Option<Instant>,
    is_closed: bool,
}

impl State {
    /// Returns when the next read may begin, and counts it.
    fn schedule(&mut self) -> Instant {
        let now = Instant::now();
        let even = self.last.map_or(now, |last| (last + INTERVAL).max(now));
        self.last = Some(even);
        even.checked_sub(INTERVAL * (BURST - 1)).map_or(now, |due| due.max(now))
    }
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

    /// Requests a read and waits until one ends. All requests wait for the same read.
    pub(super) async fn request(&self) -> RefreshOutcome {
        let Ok(_waits) = self.waiting.try_acquire() else { return RefreshOutcome::Busy };
        let mut reads = {
            let mut state = self.state.lock();
            if state.due.is_none() {
                state.due = Some(state.schedule());
                self.wake.notify_one();
            }
            self.reads.subscribe()
        };
        match reads.changed().await {
            Ok(()) => RefreshOutcome::Read,
            Err(_) => RefreshOutcome::Fixed,
        }
    }

    /// Wakes the task so that it ends.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.wake.notify_one();
    }

    /// Waits until a requested read may begin, or until [`Refresh::close`].
    #[cfg(any(test, feature = "jwks"))]
    pub(super) async fn requested(&self) {
        loop {
            let (due, is_closed) = {
                let state = self.state.lock();
                (state.due, state.is_closed)
            };
            match due {
                _ if is_closed => return,
                None => self.wake.notified().await,
                Some(due) => tokio::select! {
                    () = tokio::time::sleep_until(due) => return,
                    () = self.wake.notified() => {}
                },
            }
        }
    }

    /// Announces the end of a read.
    #[cfg(any(test, feature = "jwks"))]
    pub(super) fn finish(&self) {
        self.state.lock().due = None;
        self.reads.send_modify(|reads| *reads += 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_requests_wait_for_one_read() {
        let refresh = Refresh::new();
        let mut both = Box::pin(futures_util::future::join(refresh.request(), refresh.request()));
        assert!(both.as_mut().now_or_never().is_none());
        assert!(refresh.requested().now_or_never().is_some());
        refresh.finish();
        assert_eq!(both.now_or_never(), Some((RefreshOutcome::Read, RefreshOutcome::Read)));
        assert!(refresh.requested().now_or_never().is_none(), "no other read is due");
        refresh.close();
        assert!(refresh.requested().now_or_never().is_some());
    }

    /// A new key is found at once after a pause, and within the interval while others name unknown keys all the time.
    #[tokio::test(start_paused = true)]
    async fn unknown_keys_cause_few_reads_and_delay_a_new_key_for_seconds_only() {
        let refresh = Arc::new(Refresh::new());
        let reads = Arc::clone(&refresh);
        let start = Instant::now();
        let reading = tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < 3 * Duration::from_secs(60) {
                reads.requested().await;
                times.push(start.elapsed());
                reads.finish();
            }
            times
        });
        while start.elapsed() < 3 * Duration::from_secs(60) {
            let asked = Instant::now();
            assert_eq!(refresh.request().await, RefreshOutcome::Read);
            assert!(asked.elapsed() <= INTERVAL, "{:?}", asked.elapsed());
        }
        let times = reading.await.unwrap();
        assert_eq!(times.get(1), Some(&Duration::ZERO), "the second read does not wait");
        for first in &times {
            let end = *first + Duration::from_secs(60);
            assert!(times.iter().filter(|time| (*first..end).contains(*time)).count() <= 7);
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(refresh.request().now_or_never().is_none());
        assert!(refresh.requested().now_or_never().is_some(), "after a pause it is due at once");
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
