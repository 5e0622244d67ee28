//! Requests to read the keys of an issuer again, because a token names an unknown one.

use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// The number of reads that unknown keys may cause at once after a pause. One unknown key must not delay the keys of a
/// rotation.
const BURST: u32 = 2;
/// The time between further reads that unknown keys cause: the time after which a new key is accepted while others name
/// unknown ones all the time. Anyone can name an unknown key.
const INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of requests that wait for a read. They hold no permit of other work, so they do not delay it.
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

/// Requests reads from the task that reads the keys, if there is one.
#[derive(Debug)]
pub(super) struct Refresh {
    requests: watch::Sender<()>,
    /// Changes when a read has ended.
    reads: watch::Receiver<()>,
    places: Semaphore,
}

impl Refresh {
    /// Requests a read and waits until one ends. All requests wait for the same read.
    pub(super) async fn request(&self) -> RefreshOutcome {
        let Ok(_place) = self.places.try_acquire() else { return RefreshOutcome::Busy };
        let mut reads = self.reads.clone();
        reads.mark_unchanged();
        self.requests.send_replace(());
        reads.changed().await.map_or(RefreshOutcome::Fixed, |()| RefreshOutcome::Read)
    }
}

/// The requests, for the task that reads the keys.
#[derive(Debug)]
pub(super) struct RefreshRequests {
    requests: watch::Receiver<()>,
    reads: watch::Sender<()>,
    due: Option<Instant>,
    /// When the last requested read would have been due if reads were evenly spaced. A read may be early by the burst.
    last: Option<Instant>,
}

#[cfg_attr(not(feature = "jwks"), expect(dead_code, reason = "only key sets are read again"))]
impl RefreshRequests {
    /// Creates requests, of which there are none yet.
    pub(super) fn new() -> (Refresh, Self) {
        let ((sender, requests), (reads, receiver)) = (watch::channel(()), watch::channel(()));
        let refresh = Refresh { requests: sender, reads: receiver, places: Semaphore::new(WAITING) };
        (refresh, Self { requests, reads, due: None, last: None })
    }

    /// Waits until a requested read may begin, or until no more requests can come. May be cancelled.
    pub(super) async fn requested(&mut self) {
        if self.due.is_none() && self.requests.changed().await.is_err() {
            return;
        }
        let due = *self.due.get_or_insert_with(|| next_read(&mut self.last));
        tokio::time::sleep_until(due).await;
    }

    /// Announces the end of a read to all requests.
    pub(super) fn finish(&mut self) {
        self.due = None;
        self.requests.mark_unchanged();
        self.reads.send_replace(());
    }
}

/// Returns when the next read may begin, and counts it.
fn next_read(last: &mut Option<Instant>) -> Instant {
    let now = Instant::now();
    let even = last.map_or(now, |last| (last + INTERVAL).max(now));
    *last = Some(even);
    even.checked_sub(INTERVAL * (BURST - 1)).map_or(now, |due| due.max(now))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_requests_wait_for_one_read() {
        let (refresh, mut reads) = RefreshRequests::new();
        let mut both = Box::pin(futures_util::future::join(refresh.request(), refresh.request()));
        assert!(both.as_mut().now_or_never().is_none());
        assert!(reads.requested().now_or_never().is_some());
        reads.finish();
        assert_eq!(both.now_or_never(), Some((RefreshOutcome::Read, RefreshOutcome::Read)));
        assert!(reads.requested().now_or_never().is_none(), "no other read is due");
        let mut early = Box::pin(refresh.request());
        assert!(early.as_mut().now_or_never().is_none());
        reads.finish();
        assert_eq!(early.now_or_never(), Some(RefreshOutcome::Read), "any read will do");
        drop(refresh);
        assert!(reads.requested().now_or_never().is_some());
    }

    /// A new key is found at once after a pause, and within the interval while others name unknown keys all the time.
    #[tokio::test(start_paused = true)]
    async fn unknown_keys_cause_few_reads_and_delay_a_new_key_for_seconds_only() {
        let (refresh, mut reads) = RefreshRequests::new();
        let start = Instant::now();
        let reading = tokio::spawn(async move {
            let mut times = Vec::new();
            while start.elapsed() < 3 * Duration::from_secs(60) {
                reads.requested().await;
                times.push(start.elapsed());
                reads.finish();
            }
            (reads, times)
        });
        while start.elapsed() < 3 * Duration::from_secs(60) {
            let asked = Instant::now();
            assert_eq!(refresh.request().await, RefreshOutcome::Read);
            assert!(asked.elapsed() <= INTERVAL, "{:?}", asked.elapsed());
        }
        let (mut reads, times) = reading.await.unwrap();
        assert_eq!(times.get(1), Some(&Duration::ZERO), "the second read does not wait");
        for first in &times {
            let end = *first + Duration::from_secs(60);
            assert!(times.iter().filter(|time| (*first..end).contains(*time)).count() <= 7);
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(refresh.request().now_or_never().is_none());
        assert!(reads.requested().now_or_never().is_some(), "after a pause it is due at once");
    }

    #[tokio::test]
    async fn a_bounded_number_of_requests_waits() {
        let (refresh, mut reads) = RefreshRequests::new();
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(refresh.request())).collect();
        assert!(waiting.iter_mut().all(|request| request.as_mut().now_or_never().is_none()));
        assert_eq!(refresh.request().now_or_never(), Some(RefreshOutcome::Busy));
        reads.finish();
        assert!(waiting.into_iter().all(|request| request.now_or_never() == Some(RefreshOutcome::Read)));
    }
}
