//! The rule about slow readers: a client that accepts no part of a reply for the write timeout is disconnected. While all
//! unread replies together take too much memory, the slowest readers are disconnected earlier.
//!
//! The socket of a connection shows only that a client accepts nothing at all. In HTTP/2 a client can leave single replies
//! unread, and the memory of a reply depends on the whole of it. So large replies, streams, and all of HTTP/2 are registered
//! here until their bytes are sent. An answer never depends on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
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
    /// The bytes of whole replies.
    bytes: Arc<AtomicUsize>,
    /// Events that were replaced by newer ones.
    old_events: Mutex<Vec<Bytes>>,
    max_bytes: usize,
}

impl UnreadReplies {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { replies: Mutex::default(), bytes: Arc::default(), old_events: Mutex::default(), max_bytes }
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
            progress: Mutex::new(Progress {
                frame: bytes,
                unsent: 0,
                sent: 0,
                awaits_frame: false,
                waits_since: is_timed.then_some(now),
            }),
            close: Arc::clone(close),
        });
        let mut replies = self.replies.lock();
        if replies.len() == replies.capacity() {
            replies.retain(|reply| reply.strong_count() > 0);
        }
        replies.push(Arc::downgrade(&reply));
        reply
    }

    /// Counts an event that was replaced by a newer one for as long as a stream is sending it.
    pub(crate) fn add_old_event(&self, event: Bytes) {
        if !event.is_unique() {
            self.old_events.lock().push(event);
        }
    }

    /// Returns the bytes of all unread replies, and of old events that streams are sending.
    pub(crate) fn bytes(&self) -> usize {
        let mut events = self.old_events.lock();
        events.retain(|event| !event.is_unique());
        self.bytes.load(Ordering::Relaxed) + events.iter().map(Bytes::len).sum::<usize>()
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
        let slow =
            replies.iter().filter(|reply| reply.frame_bytes() > 0 && reply.start.elapsed() >= MIN_TIME);
        let mut slow: Vec<_> = slow.map(|reply| (reply.bytes_per_second(), reply)).collect();
        slow.sort_unstable_by_key(|(speed, _)| *speed);
        for (_, reply) in slow {
            if excess == 0 {
                return;
            }
            tracing::debug!("connection closed: its client reads slowly, and others need the memory");
            reply.close.notify_one();
            excess = excess.saturating_sub(reply.frame_bytes());
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
    /// The bytes in memory of which a part is not sent: of a whole reply, or of a frame of a stream.
    frame: usize,
    /// Bytes that were handed over to the connection and are not sent.
    unsent: usize,
    sent: usize,
    /// Whether the next frame of a stream is not there yet.
    awaits_frame: bool,
    /// Since when the client accepts nothing; `None` while there is nothing to send.
    waits_since: Option<Instant>,
}

impl Progress {
    /// Ends the wait for the client if it has everything.
    fn settle(&mut self) {
        if self.awaits_frame && self.unsent == 0 {
            self.frame = 0;
            self.waits_since = None;
        }
    }
}

impl UnreadReply {
    /// Records that there is another frame to send.
    pub(crate) fn take_frame(&self, bytes: usize) {
        let mut progress = self.progress.lock();
        progress.frame = bytes;
        progress.awaits_frame = false;
        if self.is_timed {
            progress.waits_since.get_or_insert_with(Instant::now);
        }
    }

    /// Records that the next frame is not there yet.
    pub(crate) fn await_frame(&self) {
        let mut progress = self.progress.lock();
        progress.awaits_frame = true;
        progress.settle();
    }

    /// Records that bytes were handed over to the connection.
    pub(crate) fn hand_over(&self, bytes: usize) {
        self.progress.lock().unsent += bytes;
    }

    /// Records that bytes were sent.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut progress = self.progress.lock();
        progress.unsent -= bytes;
        progress.sent += bytes;
        progress.waits_since = self.is_timed.then(Instant::now);
        progress.settle();
    }

    fn frame_bytes(&self) -> usize {
        self.progress.lock().frame
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
            slow.sent(1);
            quiet.await_frame();
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
        for (reply, bytes) in [(&fast, 40), (&slow, 20), (&slowest, 10)] {
            reply.hand_over(bytes);
            reply.sent(bytes);
        }
        unread.check(TIMEOUT);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [false, false, true]);
        drop(slowest);
        unread.check(TIMEOUT);
        assert_eq!((unread.bytes(), is_closed(&closes[1])), (100, false));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_handed_over_counts_once_it_is_sent() {
        let unread = UnreadReplies::new(100);
        let close = Arc::default();
        let reply = unread.add(0, Version::HTTP_2, &close);
        reply.take_frame(10);
        reply.hand_over(10);
        reply.await_frame();
        tokio::time::advance(TIMEOUT).await;
        unread.check(TIMEOUT);
        assert!(is_closed(&close), "nothing was sent");
        reply.sent(10);
        tokio::time::advance(TIMEOUT).await;
        unread.check(TIMEOUT);
        assert!(!is_closed(&close), "the stream is quiet");
    }

    #[tokio::test(start_paused = true)]
    async fn streams_that_keep_old_events_are_slow_readers() {
        let unread = UnreadReplies::new(100);
        let closes: [Arc<Notify>; 2] = Default::default();
        let [reading, quiet] = closes.each_ref().map(|close| unread.add(0, Version::HTTP_11, close));
        let event = Bytes::from(vec![0; 200]);
        let in_hand = event.clone();
        reading.take_frame(in_hand.len());
        quiet.await_frame();
        tokio::time::advance(MIN_TIME).await;
        unread.check(TIMEOUT);
        assert!(closes.iter().all(|close| !is_closed(close)), "the newest event does not count");
        unread.add_old_event(event);
        unread.check(TIMEOUT);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [true, false]);
        drop(in_hand);
        assert_eq!(unread.bytes(), 0);
    }
}
