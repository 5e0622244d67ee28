//! The queue of requests to read the keys of an issuer again.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::bearer::Refresh;

/// The number of reads that unknown keys may cause at once after a pause. One unknown key must not delay the keys of a
/// rotation.
const BURST: u32 = 2;
/// The time between further reads that unknown keys cause: the time after which a new key is accepted while others name
/// unknown ones all the time. Anyone can name an unknown key.
const INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of requests that wait for a read. They hold no permit of other work, so they do not delay it.
const WAITING: usize = 64;

/// The requests, for the task that reads the keys.
#[derive(Debug)]
pub(super) struct RefreshRequests {
    receiver: mpsc::Receiver<oneshot::Sender<()>>,
    /// The request for which a read is due. Others wait in the channel.
    first: Option<oneshot::Sender<()>>,
    due: Option<Instant>,
    /// When the last requested read would have been due if reads were evenly spaced. A read may be early by the burst.
    last: Option<Instant>,
}

impl RefreshRequests {
    /// Creates an empty queue.
    pub(super) fn new() -> (Refresh, Self) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Refresh(sender), Self { receiver, first: None, due: None, last: None })
    }

    /// Waits until a requested read may begin, or until no more requests can come. May be cancelled.
    pub(super) async fn requested(&mut self) {
        if self.due.is_none() {
            self.first = self.receiver.recv().await;
            if self.first.is_none() {
                return;
            }
        }
        let due = *self.due.get_or_insert_with(|| next_read(&mut self.last));
        tokio::time::sleep_until(due).await;
    }

    /// Announces the end of a read to all requests.
    pub(super) fn finish(&mut self) {
        self.due = None;
        let others = std::iter::from_fn(|| self.receiver.try_recv().ok());
        for request in self.first.take().into_iter().chain(others) {
            // A request that has timed out waits no longer.
            let _ = request.send(());
        }
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

    use super::super::bearer::RefreshOutcome;
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
