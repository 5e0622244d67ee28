//! Closes a connection without losing the last reply while the client is still sending.
//!
//! If a socket is closed with unread bytes, the operating system resets the connection, and a client that is still
//! sending a long body never sees the reply.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long received bytes are read and discarded.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// A stream that, after its writing side is closed, discards what the client is still sending for a limited time.
pub(super) struct LingeringClose<S> {
    stream: S,
    /// Set once the writing side is closed.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Whether bytes were received after that.
    is_receiving: bool,
}

impl<S> LingeringClose<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, deadline: None, is_receiving: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringClose<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringClose<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.deadline.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let deadline = this.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIMEOUT)));
        let mut discarded = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => this.is_receiving = true,
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                // A client that was not sending when the connection was closed gets no extra time.
                Poll::Pending if this.is_receiving => return deadline.as_mut().poll(cx).map(Ok),
                Poll::Pending => return Poll::Ready(Ok(())),
            }
            if deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_still_sending_gets_the_reply() {
        let (mut client, server) = duplex(1000);
        let serving = tokio::spawn(async move {
            let mut server = LingeringClose::new(server);
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
    async fn a_silent_client_is_closed_at_once() {
        let (_client, server) = duplex(1000);
        let start = Instant::now();
        LingeringClose::new(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_is_limited_in_time() {
        let (mut client, server) = duplex(1000);
        let start = Instant::now();
        client.write_all(b"x").await.unwrap();
        LingeringClose::new(server).shutdown().await.unwrap();
        assert_eq!(start.elapsed(), LINGER_TIMEOUT);
    }
}
