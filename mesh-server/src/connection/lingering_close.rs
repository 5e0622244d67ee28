//! How does a connection end whose client is still sending? Not at once: closing with bytes unread makes the
//! system tear the connection down, and a client that is busy sending a long body would never see why.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long what still comes is read and thrown away.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stream that, once it is closed for writing, reads what the client is still sending for a while.
pub(super) struct Lingering<S> {
    stream: S,
    /// Set once the writing side is closed.
    until: Option<Pin<Box<Sleep>>>,
    /// Whether anything came after that.
    came: bool,
}

impl<S> Lingering<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, until: None, came: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
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
        if this.until.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let until = this.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        let mut space = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut this.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => this.came = true,
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                // A client that was not sending when the connection was closed is not waited for.
                Poll::Pending if this.came => return until.as_mut().poll(cx).map(Ok),
                Poll::Pending => return Poll::Ready(Ok(())),
            }
            if until.as_mut().poll(cx).is_ready() {
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
    async fn a_client_that_is_sending_reads_the_reply() {
        let (mut client, server) = duplex(1000);
        let serving = tokio::spawn(async move {
            let mut server = Lingering::new(server);
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
    async fn nobody_is_waited_for_long() {
        let (client, server) = duplex(1000);
        let begun = Instant::now();
        Lingering::new(server).shutdown().await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO, "a silent client is not waited for at all");
        drop(client);

        let (mut client, server) = duplex(1000);
        client.write_all(b"x").await.unwrap();
        Lingering::new(server).shutdown().await.unwrap();
        assert_eq!(begun.elapsed(), PATIENCE);
    }
}
