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

/// How long a client may always take to read a reply, or a frame of a stream.
const MIN_TIME: Duration = Duration::from_secs(1);
/// Entries for which there is always room.
const MIN_ENTRIES: usize = 64;

/// The replies that wait for their readers.
#[derive(Debug, Default)]
pub(crate) struct UnreadReplies {
    replies: Mutex<Vec<Weak<UnreadReply>>>,
    /// The bytes of replies, and of frames of streams.
    bytes: Arc<AtomicUsize>,
    /// Events that were replaced by newer ones while streams were sending them. All these streams share the bytes.
    old_events: Mutex<Vec<Bytes>>,
}

impl UnreadReplies {
    /// Registers a reply of `bytes`, or a stream (0), until the returned value is dropped. `close` is notified to close its
    /// connection. The write timeout applies to the reply if it is one of several on the connection.
    pub(crate) fn add(&self, bytes: usize, version: Version, close: &Arc<Notify>) -> Arc<UnreadReply> {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (now, is_timed) = (Instant::now(), version == Version::HTTP_2);
        let reply = Arc::new(UnreadReply {
            all_bytes: Arc::clone(&self.bytes),
            is_timed,
            progress: Mutex::new(Progress {
                frame: Frame { bytes, counted: bytes, sent: 0, since: now },
                unsent: 0,
                awaits_frame: false,
                waits_since: is_timed.then_some(now),
            }),
            close: Arc::clone(close),
        });
        let mut replies = self.replies.lock();
        if replies.len() == replies.capacity() {
            replies.retain(|reply| reply.strong_count() > 0);
            let more = replies.len().max(MIN_ENTRIES);
            replies.reserve(more);
        }
        replies.push(Arc::downgrade(&reply));
        reply
    }

    /// Counts an event that was replaced by a newer one for as long as a stream is sending it.
    pub(crate) fn add_old_event(&self, event: Bytes) {
        let mut events = self.old_events.lock();
        events.push(event);
        events.retain(|event| !event.is_unique());
    }

    /// Returns the bytes of all unread replies, and of old events that streams are sending.
    pub(crate) fn bytes(&self) -> usize {
        let mut events = self.old_events.lock();
        events.retain(|event| !event.is_unique());
        self.bytes.load(Ordering::Relaxed) + events.iter().map(Bytes::len).sum::<usize>()
    }

    /// Closes the connections of slow readers. `max_bytes` is the number of bytes that may wait.
    pub(crate) fn close_slow_readers(&self, timeout: Duration, max_bytes: usize) {
        let replies: Vec<_> = self.replies.lock().iter().filter_map(Weak::upgrade).collect();
        replies
            .iter()
            .filter(|reply| reply.stalled_for() >= timeout)
            .for_each(|reply| reply.close.notify_one());
        let mut excess = self.bytes().saturating_sub(max_bytes);
        if excess == 0 {
            return;
        }
        let frames = replies.iter().map(|reply| (reply.progress.lock().frame, reply));
        let mut slow: Vec<_> =
            frames.filter(|(frame, _)| frame.bytes > 0 && frame.since.elapsed() >= MIN_TIME).collect();
        slow.sort_by_cached_key(|(frame, _)| frame.bytes_per_second());
        for (frame, reply) in slow {
            if excess == 0 {
                return;
            }
            tracing::debug!("connection closed: its client reads slowly, and others need the memory");
            reply.close.notify_one();
            excess = excess.saturating_sub(frame.bytes);
        }
    }
}

/// A reply whose bytes are not all sent.
pub(crate) struct UnreadReply {
    /// The bytes of all replies.
    all_bytes: Arc<AtomicUsize>,
    is_timed: bool,
    progress: Mutex<Progress>,
    close: Arc<Notify>,
}

struct Progress {
    frame: Frame,
    /// Bytes that were handed over to the connection and are not sent.
    unsent: usize,
    /// Whether the next frame of a stream is not there yet.
    awaits_frame: bool,
    /// Since when the client accepts nothing; `None` while there is nothing to send.
    waits_since: Option<Instant>,
}

/// What is being sent: a whole reply, or a frame of a stream.
#[derive(Clone, Copy)]
struct Frame {
    /// The bytes in memory, until all of them are sent.
    bytes: usize,
    /// Those that count for this reply. Streams share the bytes of events.
    counted: usize,
    sent: usize,
    since: Instant,
}

impl Frame {
    fn bytes_per_second(&self) -> u128 {
        self.sent as u128 * 1_000 / self.since.elapsed().as_millis().max(1)
    }
}

impl UnreadReply {
    /// Records that a stream has another frame to send.
    pub(crate) fn take_frame(&self, frame: &Bytes) {
        let mut progress = self.progress.lock();
        let (bytes, now) = (frame.len(), Instant::now());
        let counted = if frame.is_unique() { bytes } else { 0 };
        self.all_bytes.fetch_add(counted, Ordering::Relaxed);
        self.all_bytes.fetch_sub(progress.frame.counted, Ordering::Relaxed);
        progress.frame = Frame { bytes, counted, sent: 0, since: now };
        progress.awaits_frame = false;
        if self.is_timed {
            progress.waits_since.get_or_insert(now);
        }
    }

    /// Records that the next frame is not there yet, or that there is none.
    pub(crate) fn await_frame(&self) {
        let mut progress = self.progress.lock();
        progress.awaits_frame = true;
        self.settle(&mut progress);
    }

    /// Records that bytes were handed over to the connection.
    pub(crate) fn hand_over(&self, bytes: usize) {
        self.progress.lock().unsent += bytes;
    }

    /// Records that bytes were sent.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut progress = self.progress.lock();
        progress.unsent -= bytes;
        progress.frame.sent += bytes;
        progress.waits_since = self.is_timed.then(Instant::now);
        self.settle(&mut progress);
    }

    /// Ends the wait for the client if it has everything.
    fn settle(&self, progress: &mut Progress) {
        if progress.awaits_frame && progress.unsent == 0 {
            self.all_bytes.fetch_sub(progress.frame.counted, Ordering::Relaxed);
            (progress.frame.bytes, progress.frame.counted) = (0, 0);
            progress.waits_since = None;
        }
    }

    fn stalled_for(&self) -> Duration {
        self.progress.lock().waits_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for UnreadReply {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(self.progress.get_mut().frame.counted, Ordering::Relaxed);
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
        let unread = UnreadReplies::default();
        let closes: [Arc<Notify>; 3] = Default::default();
        let [_stalled, slow, quiet] = closes.each_ref().map(|close| unread.add(10, Version::HTTP_2, close));
        for _ in 0..30 {
            slow.hand_over(1);
            slow.sent(1);
            quiet.await_frame();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        unread.close_slow_readers(TIMEOUT, 100);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [true, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_readers_make_room_for_others() {
        let unread = UnreadReplies::default();
        let closes: [Arc<Notify>; 3] = Default::default();
        let [fast, slow, slowest] = closes.each_ref().map(|close| unread.add(50, Version::HTTP_11, close));
        unread.close_slow_readers(TIMEOUT, 100);
        assert!(closes.iter().all(|close| !is_closed(close)), "each has a second");
        tokio::time::advance(MIN_TIME).await;
        for (reply, bytes) in [(&fast, 40), (&slow, 20), (&slowest, 10)] {
            reply.hand_over(bytes);
            reply.sent(bytes);
        }
        unread.close_slow_readers(TIMEOUT, 100);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [false, false, true]);
        drop(slowest);
        unread.close_slow_readers(TIMEOUT, 100);
        assert_eq!((unread.bytes(), is_closed(&closes[1])), (100, false));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_handed_over_counts_once_it_is_sent() {
        let unread = UnreadReplies::default();
        let close = Arc::default();
        let reply = unread.add(0, Version::HTTP_2, &close);
        reply.take_frame(&Bytes::from(vec![0; 10]));
        reply.hand_over(10);
        reply.await_frame();
        tokio::time::advance(TIMEOUT).await;
        unread.close_slow_readers(TIMEOUT, 100);
        assert!(is_closed(&close), "nothing was sent");
        reply.sent(10);
        tokio::time::advance(TIMEOUT).await;
        unread.close_slow_readers(TIMEOUT, 100);
        assert!(!is_closed(&close), "the stream is quiet");
    }

    #[tokio::test(start_paused = true)]
    async fn frames_of_streams_count_unless_they_are_shared() {
        let unread = UnreadReplies::default();
        let reply = unread.add(0, Version::HTTP_2, &Arc::default());
        for (frame, counted) in [(Bytes::from(vec![0; 30]), 30), (Bytes::from_static(b"shared"), 0)] {
            reply.take_frame(&frame);
            assert_eq!(unread.bytes(), counted);
        }
        reply.take_frame(&Bytes::from(vec![0; 10]));
        reply.hand_over(10);
        reply.await_frame();
        assert_eq!(unread.bytes(), 10, "not yet sent");
        reply.sent(10);
        assert_eq!(unread.bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn streams_that_keep_old_events_are_slow_readers() {
        let unread = UnreadReplies::default();
        let closes: [Arc<Notify>; 2] = Default::default();
        let [reading, quiet] = closes.each_ref().map(|close| unread.add(0, Version::HTTP_11, close));
        let event = Bytes::from(vec![0; 200]);
        let in_hand = event.clone();
        reading.take_frame(&in_hand);
        quiet.await_frame();
        tokio::time::advance(MIN_TIME).await;
        unread.close_slow_readers(TIMEOUT, 100);
        assert!(closes.iter().all(|close| !is_closed(close)), "the newest event does not count");
        unread.add_old_event(event);
        unread.close_slow_readers(TIMEOUT, 100);
        assert_eq!(closes.each_ref().map(|close| is_closed(close)), [true, false]);
        drop(in_hand);
        assert_eq!(unread.bytes(), 0);
    }
}
