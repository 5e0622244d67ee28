//! What is a connection doing, and how long may it go on so? Waiting for a client costs memory, so there is an
//! end to every kind of waiting.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::server::Timeouts;
use crate::{Body, BodyError};

/// How every connection of HTTP/2 begins.
const PREFACE: &[u8] = b"PRI";

/// What a connection is doing. Its stream and its requests write, its task reads.
///
/// No value depends on another one's being written before it: who reads a moment too early looks again later.
pub(super) struct Activity {
    /// Requests whose reply is not yet written.
    under_way: AtomicUsize,
    /// Whether there has been one.
    asked: AtomicBool,
    /// Whether a part of a head has come.
    reading: AtomicBool,
    /// Whether each reply is the last one.
    leaving: AtomicBool,
    /// Whether frames come, which may be about anything, rather than heads.
    framed: AtomicBool,
    opened_at: Instant,
    /// When one of these changed last, in milliseconds since the connection was opened.
    since: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
            reading: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            framed: AtomicBool::new(false),
            opened_at: Instant::now(),
            since: AtomicU64::new(0),
        }
    }

    /// How long the client may take to do something else, if it has to.
    pub(super) fn left(&self, timeouts: &Timeouts) -> Option<Duration> {
        if self.under_way.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let silent = self.age_millis().saturating_sub(self.since.load(Ordering::Relaxed));
        let waits_for_head = self.reading.load(Ordering::Relaxed) || !self.asked.load(Ordering::Relaxed);
        let framed = self.framed.load(Ordering::Relaxed);
        let patience = if waits_for_head && !framed { timeouts.head } else { timeouts.idle };
        Some(patience.saturating_sub(Duration::from_millis(silent)))
    }

    /// Whether the client may be told that the connection ends: it is not in the middle of a head.
    pub(super) fn is_at_rest(&self) -> bool {
        self.framed.load(Ordering::Relaxed) || !self.reading.load(Ordering::Relaxed)
    }

    /// Notes a request, which ends with the value that is returned.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        self.asked.store(true, Ordering::Relaxed);
        self.reading.store(false, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }

    /// Notes that the server is about to stop.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    fn came(&self) {
        if self.under_way.load(Ordering::Relaxed) == 0
            && !self.framed.load(Ordering::Relaxed)
            && !self.reading.swap(true, Ordering::Relaxed)
        {
            self.touch();
        }
    }

    /// Milliseconds since the connection was opened.
    fn age_millis(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn touch(&self) {
        self.since.store(self.age_millis(), Ordering::Relaxed);
    }
}

/// A request that is answered, up to the last byte of its reply.
pub(super) struct UnderWay(Arc<Activity>);

impl UnderWay {
    /// Whether its reply should be the connection's last.
    pub(super) fn is_last(&self) -> bool {
        self.0.leaving.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.touch();
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a reply, with the note that it is under way.
pub(super) struct Noted {
    pub(super) body: Body,
    pub(super) _under_way: UnderWay,
}

impl HttpBody for Noted {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that notes what comes, and gives up on a client that does not take what is sent.
pub(super) struct Attended<S> {
    stream: S,
    activity: Arc<Activity>,
    patience: Duration,
    /// The first bytes, until there are enough to tell the protocol by.
    first: Option<Vec<u8>>,
    /// Set while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Attended<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>, patience: Duration) -> Self {
        Self { stream, activity, patience, first: Some(Vec::new()), stalled: None }
    }

    fn note(&mut self, bytes: &[u8]) {
        if let Some(first) = &mut self.first {
            first.extend(bytes.iter().take(PREFACE.len().saturating_sub(first.len())));
            if first == PREFACE {
                self.activity.framed.store(true, Ordering::Relaxed);
            }
            if first.len() >= PREFACE.len() {
                self.first = None;
            }
        }
        self.activity.came();
    }

    /// What writing came to, or a failure where nothing was taken for too long.
    fn attend<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Attended<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(bytes) = buffer.filled().get(before..).filter(|bytes| !bytes.is_empty()) {
            self.note(bytes);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Attended<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.attend(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.attend(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.attend(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
