//! The stream of a connection: it reports received bytes, fails when the client stops reading, and closes without
//! losing the last reply.
//!
//! If a socket is closed with unread bytes, the operating system resets the connection, and a client that is still
//! sending a long body never sees the reply. So after its writing side is closed, the stream discards what the client
//! is still sending for a limited time.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::activity::Activity;

/// The length in bytes up to which the parts of a write are joined.
const MAX_JOINED_BYTES: usize = 4 * 1024;
/// The first bytes of every HTTP/2 connection; no HTTP/1 method starts with them.
const HTTP2_PREFIX: &[u8] = b"PRI";
/// The complete preface of an HTTP/2 connection.
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long received bytes are discarded after the writing side is closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of bytes that are discarded.
const LINGER_BYTES: usize = 4 * 1024 * 1024;

thread_local! {
    /// Space for a write whose parts are joined. A new array would have to be zeroed for each write.
    static JOIN_BUFFER: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(MAX_JOINED_BYTES));
}

/// The stream of a connection. It reports received bytes to an [`Activity`], applies the write timeout, and lingers when it
/// is closed.
pub(super) struct ConnectionStream<S> {
    stream: S,
    activity: Arc<Activity>,
    write_timeout: Duration,
    /// The first bytes, until they suffice to recognize the protocol.
    prefix: Option<Vec<u8>>,
    /// Bytes that were received and have yet to be read.
    unread: Vec<u8>,
    /// Set while the client accepts no bytes.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Set once the writing side is closed.
    linger: Option<Pin<Box<Sleep>>>,
    /// The number of bytes that were received after the writing side was closed.
    discarded: usize,
}

impl<S> ConnectionStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>, write_timeout: Duration) -> Self {
        Self {
            stream,
            activity,
            write_timeout,
            prefix: Some(Vec::new()),
            unread: Vec::new(),
            stalled: None,
            linger: None,
            discarded: 0,
        }
    }

    /// Puts back bytes that were read.
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        self.unread.splice(..0, bytes.iter().copied());
    }

    fn record(&mut self, bytes: &[u8]) {
        if let Some(prefix) = &mut self.prefix {
            prefix.extend(bytes.iter().take(HTTP2_PREFIX.len().saturating_sub(prefix.len())));
            if prefix == HTTP2_PREFIX {
                self.activity.set_http2();
            }
            if prefix.len() >= HTTP2_PREFIX.len() {
                self.prefix = None;
            }
        }
        self.activity.bytes_received();
    }

    /// Returns the result of a write, or an error once writes have been pending for the whole timeout.
    fn limit_stall<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            if self.stalled.take().is_some() {
                self.activity.outbox.set_blocked(false);
            }
            return result;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| {
            self.activity.outbox.set_blocked(true);
            Box::pin(tokio::time::sleep(timeout))
        });
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

impl<S: AsyncRead + Unpin> ConnectionStream<S> {
    /// Waits for the first bytes of a request, which are read again later, and returns their protocol; `None` at the end.
    pub(super) fn poll_protocol(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Protocol>>> {
        // A connection stays with the protocol of its first bytes.
        let is_new = self.prefix.is_some() || self.unread.starts_with(HTTP2_PREFIX);
        loop {
            if self.unread.len() >= HTTP2_PREFACE.len() && is_new && self.unread.starts_with(HTTP2_PREFACE) {
                return Poll::Ready(Ok(Some(Protocol::Http2)));
            }
            let may_be_http2 = is_new && HTTP2_PREFACE.starts_with(&self.unread);
            if !may_be_http2 && !self.unread.is_empty() {
                return Poll::Ready(Ok(Some(Protocol::Http1)));
            }
            let mut bytes = [0; HTTP2_PREFACE.len()];
            let mut buffer = ReadBuf::new(&mut bytes);
            let mut space = buffer.take(HTTP2_PREFACE.len().saturating_sub(self.unread.len()));
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut space))?;
            let received = space.filled();
            if received.is_empty() {
                let is_cut = !self.unread.is_empty();
                return Poll::Ready(Ok(is_cut.then_some(Protocol::Http1)));
            }
            self.record(received);
            self.unread.extend_from_slice(received);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ConnectionStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let length = buffer.remaining().min(self.unread.len());
            buffer.put_slice(self.unread.get(..length).unwrap_or_default());
            self.unread.drain(..length);
            if self.unread.is_empty() {
                self.unread = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(bytes) = buffer.filled().get(before..).filter(|bytes| !bytes.is_empty()) {
            self.record(bytes);
        }
        result
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ConnectionStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.limit_stall(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // One write of a short head and body costs less than a vectored write of both.
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let stream = Pin::new(&mut self.stream);
        let result = if length <= MAX_JOINED_BYTES {
            JOIN_BUFFER.with_borrow_mut(|joined| {
                joined.clear();
                slices.iter().for_each(|slice| joined.extend_from_slice(slice));
                stream.poll_write(cx, joined)
            })
        } else {
            stream.poll_write_vectored(cx, slices)
        };
        self.limit_stall(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.limit_stall(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let linger = this.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIMEOUT)));
        let mut discarded = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => this.discarded += buffer.filled().len(),
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                // A client that was not sending when the connection was closed gets no extra time.
                Poll::Pending if this.discarded > 0 => return linger.as_mut().poll(cx).map(Ok),
                Poll::Pending => return Poll::Ready(Ok(())),
            }
            if this.discarded > LINGER_BYTES || linger.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    fn lingering(stream: DuplexStream) -> ConnectionStream<DuplexStream> {
        ConnectionStream::new(stream, Arc::new(Activity::new(Arc::default())), Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_still_sending_gets_the_reply() {
        let (mut client, server) = duplex(1000);
        let serving = tokio::spawn(async move {
            let mut server = lingering(server);
            server.write_all(b"no").await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            server.shutdown().await.unwrap();
        });
        client.write_all(&[0; 100_000]).await.unwrap();
        client.shutdown().await.unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.unwrap();
        assert_eq!(reply, "no");
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn the_parts_of_a_write_arrive_in_order() {
        for length in [0, 1, MAX_JOINED_BYTES - 4, MAX_JOINED_BYTES - 3, 3 * MAX_JOINED_BYTES] {
            let (mut client, server) = duplex(16 * MAX_JOINED_BYTES);
            let mut server = lingering(server);
            let body = vec![b'x'; length];
            let parts = [io::IoSlice::new(b"head"), io::IoSlice::new(&body)];
            assert_eq!(server.write_vectored(&parts).await.unwrap(), 4 + length);
            drop(server);
            let mut received = Vec::new();
            client.read_to_end(&mut received).await.unwrap();
            assert!(received == [b"head", &body[..]].concat(), "{length}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_closed_at_once() {
        let (_client, server) = duplex(1000);
        let start = Instant::now();
        lingering(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_is_limited_in_bytes() {
        let (mut client, server) = duplex(LINGER_BYTES + 100_000);
        client.write_all(&vec![0; LINGER_BYTES + 50_000]).await.unwrap();
        let start = Instant::now();
        lingering(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_is_limited_in_time() {
        let (mut client, server) = duplex(1000);
        let start = Instant::now();
        client.write_all(b"x").await.unwrap();
        lingering(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), LINGER_TIMEOUT);
    }
}
