//! The replies of one connection that its client has not accepted yet.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Tracks whether the client of a connection accepts its replies, and can end the connection.
///
/// HTTP/1.1 sends one reply at a time, so a client that does not read blocks the writes to the socket. In HTTP/2 a client
/// can leave single streams unread, so each piece of a body is tracked from when it is handed over until it is written.
///
/// Outboxes are created one after the other by the thread that accepts connections, and used by the threads that serve them. The
/// alignment keeps these threads from sharing cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Bytes of the tracked pieces.
    unsent: AtomicUsize,
    connection: OnceLock<AbortHandle>,
}

#[derive(Debug, Default)]
struct State {
    /// The time since which the socket has accepted no bytes.
    blocked_since: Option<Instant>,
    /// The pieces that are not written, in the order in which they were handed over.
    pieces: Vec<(u64, Instant)>,
    next_piece: u64,
}

impl Outbox {
    /// Sets the task of the connection.
    pub(crate) fn set_connection(&self, task: AbortHandle) {
        let _ = self.connection.set(task);
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        if let Some(task) = self.connection.get() {
            task.abort();
        }
    }

    /// Records whether a write to the socket has to wait.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        let mut state = self.state.lock();
        state.blocked_since = is_blocked.then(|| state.blocked_since.unwrap_or_else(Instant::now));
    }

    /// Tracks a piece of a body until the last reference to it is dropped.
    pub(crate) fn track(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        let mut state = self.state.lock();
        let number = state.next_piece;
        state.next_piece += 1;
        state.pieces.push((number, Instant::now()));
        drop(state);
        self.unsent.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Piece { bytes, number, outbox: Arc::clone(self) })
    }

    /// Returns the bytes of the tracked pieces.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Returns the time since which the client has not accepted sent bytes; `None` if nothing waits for it.
    pub(crate) fn stalled_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        let oldest = state.pieces.first().map(|(_, since)| *since);
        oldest.into_iter().chain(state.blocked_since).min()
    }

    fn remove(&self, number: u64, length: usize) {
        self.unsent.fetch_sub(length, Ordering::Relaxed);
        let mut state = self.state.lock();
        if let Some(index) = state.pieces.iter().position(|(piece, _)| *piece == number) {
            state.pieces.remove(index);
        }
    }
}

/// A piece of a body that is not written yet.
struct Piece {
    bytes: Bytes,
    number: u64,
    outbox: Arc<Outbox>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.outbox.remove(self.number, self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_piece_decides_since_when_a_client_stalls() {
        let outbox = Arc::new(Outbox::default());
        assert_eq!((outbox.stalled_since(), outbox.unsent()), (None, 0));
        let start = Instant::now();
        let first = outbox.track(Bytes::from_static(b"one"));
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = outbox.track(Bytes::from_static(b"two"));
        assert_eq!((outbox.stalled_since(), outbox.unsent()), (Some(start), 6));
        let rest = first.slice(2..);
        drop(first);
        assert_eq!(outbox.stalled_since(), Some(start), "a part of it is not written");
        drop(rest);
        assert_eq!(outbox.stalled_since(), Some(start + Duration::from_secs(1)));
        drop(second);
        assert_eq!((outbox.stalled_since(), outbox.unsent()), (None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_blocked_socket_stalls_until_it_accepts_bytes() {
        let (outbox, start) = (Outbox::default(), Instant::now());
        outbox.set_blocked(true);
        tokio::time::advance(Duration::from_secs(1)).await;
        outbox.set_blocked(true);
        assert_eq!(outbox.stalled_since(), Some(start));
        outbox.set_blocked(false);
        assert_eq!(outbox.stalled_since(), None);
    }
}
