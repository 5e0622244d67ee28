//! The rule about slow readers: a client that accepts no part of a reply for the write timeout is disconnected. While all
//! unread replies together take too much memory, the slowest readers are disconnected earlier.
//!
//! The socket of a connection shows only that a client accepts nothing at all. In HTTP/2 a client can leave single replies
//! unread, and the memory of a reply depends on the whole of it. So large replies, and all of HTTP/2, are registered here until
//! their bytes are sent. An answer never depends on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::Version;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often slow readers are looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How long a client may always take to read a reply.
const MIN_TIME: Duration = Duration::from_secs(1);

/// The replies that wait for their readers.
#[derive(Debug)]
pub(crate) struct UnreadReplies {
    replies: Mutex<Vec<Weak<UnreadReply>>>,
    bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

impl UnreadReplies {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { replies: Mutex::default(), bytes: Arc::default(), max_bytes }
    }

    /// Registers a reply until the returned value is dropped. `close` is notified to close its connection. The write timeout
    /// applies to the reply if it is one of several on the connection.
    pub(crate) fn add(&self, bytes: usize, version: Version, close: &Arc<Notify>) -> Arc<UnreadReply> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (now, is_timed) = (Instant::now(), version == Version::HTTP_2);
        let reply = Arc::new(UnreadReply {
            bytes,
            all_bytes: Arc::clone(&self.bytes),
            is_timed,
            start: now,
            progress: Mutex::new(Progress { sent: 0, waits_since: is_timed.then_some(now) }),
            close: Arc::clone(close),
        });
        let mut replies = self.replies.lock();
        if replies.len() == replies.capacity() {
            replies.retain(|reply| reply.strong_count() > 0);
        }
        replies.push(Arc::downgrade(&reply));
        reply
    }

    /// Returns the bytes of all unread replies.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Closes the connections of slow readers; never completes.
    pub(crate) async fn close_slow_readers(&self, timeout: Duration) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.check(timeout);
        }
    }

    fn check(&self, timeout: Duration) {
        let replies: Vec<_> = self.replies.lock().iter().filter_map(Weak::upgrade).collect();
        replies
            .iter()
            .filter(|reply| reply.stalled_for() >= timeout)
            .for_each(|reply| reply.close.notify_one());
        let mut excess = self.bytes().saturating_sub(self.max_bytes);
        if excess == 0 {
            return;
        }
        let slow = replies.iter().filter(|reply| reply.bytes > 0 && reply.start.elapsed() >= MIN_TIME);
        let mut slow: Vec<_> = slow.map(|reply| (reply.bytes_per_second(), reply)).collect();
        slow.sort_unstable_by_key(|(speed, _)| *speed);
        for (_, reply) in slow {
            if excess == 0 {
                return;
            }
            tracing::debug!("connection closed: its client reads slowly, and others need the memory");
            reply.close.notify_one();
            excess = excess.saturating_sub(reply.bytes);
        }
    }
}

/// A reply whose bytes are not all sent.
pub(crate) struct UnreadReply {
    /// The bytes in memory; 0 for a stream.
    bytes: usize,
    /// The bytes of all replies.
    all_bytes: Arc<AtomicUsize>,
    is_timed: bool,
    start: Instant,
    progress: Mutex<Progress>,
    close: Arc<Notify>,
}

struct Progress {
    sent: usize,
    /// Since when the client accepts nothing; `None` while a stream has nothing to send.
    waits_since: Option<Instant>,
}

impl UnreadReply {
    /// Records that the client accepts more, and that the next bytes of the reply are not there yet.
    pub(crate) fn await_bytes(&self) {
        self.progress.lock().waits_since = None;
    }

    /// Records that bytes were handed over to the connection.
    pub(crate) fn hand_over(&self, bytes: usize) {
        let mut progress = self.progress.lock();
        progress.sent += bytes;
        progress.waits_since = self.is_timed.then(Instant::now);
    }

    fn stalled_for(&self) -> Duration {
        self.progress.lock().waits_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn bytes_per_second(&self) -> u128 {
        self.progress.lock().sent as u128 * 1_000 / self.start.elapsed().as_millis().max(1)
    }
}

impl Drop for UnreadReply {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn is_closed(close: &Notify) -> bool {
        close.notified().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_accepts_nothing_is_closed_and_a_quiet_stream_is_not() {
        let unread = UnreadReplies::new(100);
        let closes: [Arc<Notify>; 3] = Default::default();
        let [_stalled, slow, quiet] = closes.each_ref().map(|close| unread.add(10, Version::HTTP_2, close));
        for _ in 0..30 {
            slow.hand_over(1);
            quiet.await_bytes();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        unread.check(TIMEOUT);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [true, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_readers_make_room_for_others() {
        let unread = UnreadReplies::new(100);
        let closes: [Arc<Notify>; 3] = Default::default();
        let [fast, slow, slowest] = closes.each_ref().map(|close| unread.add(50, Version::HTTP_11, close));
        unread.check(TIMEOUT);
        assert!(closes.iter().all(|close| !is_closed(close)), "each has a second");
        tokio::time::advance(MIN_TIME).await;
        fast.hand_over(40);
        slow.hand_over(20);
        slowest.hand_over(10);
        unread.check(TIMEOUT);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [false, false, true]);
        drop(slowest);
        unread.check(TIMEOUT);
        assert_eq!((unread.bytes(), is_closed(&closes[1])), (100, false));
    }
}
