//! The stream of a connection: it reports received bytes, fails when the client stops reading, and closes without losing the
//! last reply.
//!
//! If a socket is closed with unread bytes, the operating system resets the connection, and a client that is still sending a
//! long body never sees the reply. So after its writing side is closed, the stream discards for a limited time what the client
//! sends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::activity::Activity;

/// The first bytes of every HTTP/2 connection; no HTTP/1 method starts with them.
const HTTP2_PREFIX: &[u8] = b"PRI * HTTP/2";
/// The length in bytes up to which the parts of a write are joined: one `send` of a short head and body takes less time than
/// `writev`. Larger buffers take longer to clear than they save.
const MAX_JOINED_BYTES: usize = 1_500;
/// How long received bytes are discarded after the writing side is closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of bytes that are discarded.
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// The stream of a connection.
pub(super) struct ConnectionStream<S> {
    stream: S,
    activity: Arc<Activity>,
    has_received: bool,
    write_timeout: Duration,
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
            has_received: false,
            write_timeout,
            stalled: None,
            linger: None,
            discarded: 0,
        }
    }

    /// Returns the result of a write, or an error once writes have been pending for the whole timeout.
    fn limit_stall<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            if self.stalled.take().is_some() {
                self.activity.set_write_pending(false);
            }
            return result;
        }
        let stalled = self.stalled.get_or_insert_with(|| {
            self.activity.set_write_pending(true);
            Box::pin(tokio::time::sleep(self.write_timeout))
        });
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ConnectionStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if let Some(bytes) = buffer.filled().get(before..).filter(|bytes| !bytes.is_empty()) {
            if !std::mem::replace(&mut self.has_received, true) && bytes.starts_with(HTTP2_PREFIX) {
                self.activity.set_http2();
            }
            self.activity.bytes_received();
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
        let result = if slices.iter().map(|part| part.len()).sum::<usize>() <= MAX_JOINED_BYTES {
            let mut joined = [0; MAX_JOINED_BYTES];
            Pin::new(&mut self.stream).poll_write(cx, join(slices, &mut joined))
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
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
            let result = Pin::new(&mut this.stream).poll_shutdown(cx);
            ready!(this.limit_stall(cx, result))?;
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

/// Copies the parts of a write to a buffer with room for them.
fn join<'b>(parts: &[io::IoSlice<'_>], buffer: &'b mut [u8]) -> &'b [u8] {
    let mut rest = &mut *buffer;
    let mut length = 0;
    for part in parts {
        let Some((here, more)) = rest.split_at_mut_checked(part.len()) else { break };
        here.copy_from_slice(part);
        (rest, length) = (more, length + part.len());
    }
    buffer.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::Version;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;
    use crate::Timeouts;

    fn lingering(stream: DuplexStream) -> ConnectionStream<DuplexStream> {
        ConnectionStream::new(stream, Activity::new(), Duration::from_secs(60))
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

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_the_end_of_a_reply_is_not_idle() {
        let timeouts = Timeouts::default();
        let activity = Activity::new();
        let (mut client, server) = duplex(1000);
        let mut server = ConnectionStream::new(server, Arc::clone(&activity), timeouts.write);
        drop(activity.start_request(Version::HTTP_11));
        let sending = tokio::spawn(async move { server.write_all(&[0; 1500]).await.map(|()| server) });
        tokio::time::sleep(timeouts.write / 2).await;
        assert_eq!(activity.remaining(&timeouts), None);
        client.read_exact(&mut [0; 1500]).await.unwrap();
        let _server = sending.await.unwrap().unwrap();
        assert_eq!(activity.remaining(&timeouts), Some(timeouts.idle));
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
    async fn lingering_is_limited_in_bytes_and_in_time() {
        let (mut client, server) = duplex(LINGER_BYTES + 100_000);
        client.write_all(&vec![0; LINGER_BYTES + 50_000]).await.unwrap();
        let start = Instant::now();
        lingering(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);

        let (mut client, server) = duplex(1000);
        client.write_all(b"x").await.unwrap();
        lingering(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), LINGER_TIMEOUT);
    }
}
