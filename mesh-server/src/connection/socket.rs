//! How are bytes taken from a socket, and given to it? With as little around the system's call as can be.
//!
//! The runtime's own stream calls the C library, which prepares each call for the thread's being cancelled, and gives a
//! head and its body to the system as two pieces. Here the call is made directly, and what is short is put
//! together first. Everything else, such as when to call again, is the runtime's.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that are taken at a time. Where more may come the runtime reads, without a copy.
const TAKEN: usize = 16 * 1024;
/// Bytes that are put together at the most.
const TOGETHER: usize = 4 * 1024;

thread_local! {
    static SPACE: RefCell<Vec<u8>> = RefCell::new(vec![0; TAKEN]);
}

/// A connection's socket.
pub(super) struct Socket(TcpStream);

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(stream)
    }

    /// Calls the system when it is ready for that. The call is given and returns numbers of bytes.
    fn poll_io(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        wanted: usize,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if interest.is_readable() {
                ready!(self.0.poll_read_ready(cx))?;
            } else {
                ready!(self.0.poll_write_ready(cx))?;
            }
            let mut count = 0;
            let called = self.0.try_io(interest, || {
                count = call()?;
                // That was all for now. The system tells when there is more, so it need not be asked.
                if (1..wanted).contains(&count) { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            match called {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Err(_) if count == 0 => {}
                _ => return Poll::Ready(Ok(count)),
            }
        }
    }

    fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Interest::WRITABLE, bytes.len(), || Ok(send(&self.0, bytes, SendFlags::NOSIGNAL)?))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        SPACE.with_borrow_mut(|space| {
            let Some(space) = space.get_mut(..buffer.remaining()) else {
                return Pin::new(&mut self.0).poll_read(cx, buffer);
            };
            let wanted = space.len();
            let take = || Ok(recv(&self.0, &mut *space, RecvFlags::empty())?.0);
            let count = ready!(self.poll_io(cx, Interest::READABLE, wanted, take))?;
            buffer.put_slice(space.get(..count).unwrap_or_default());
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if slices.iter().map(|slice| slice.len()).sum::<usize>() > TOGETHER {
            return Pin::new(&mut self.0).poll_write_vectored(cx, slices);
        }
        SPACE.with_borrow_mut(|space| {
            let mut end = 0;
            for slice in slices {
                let start = end;
                end += slice.len();
                if let Some(space) = space.get_mut(start..end) {
                    space.copy_from_slice(slice);
                }
            }
            self.poll_send(cx, space.get(..end).unwrap_or_default())
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, Socket::new(listener.accept().await.unwrap().0))
    }

    /// Bytes that tell where they stand.
    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|place| (place % 251) as u8).collect()
    }

    #[tokio::test]
    async fn pieces_of_any_size_arrive_whole() {
        // Room for a part of what is there, for all of it, and for more than is taken here.
        let rooms = [1_000, TAKEN, 100_000];
        let sizes = [1, TAKEN - 1, TAKEN, TAKEN + 1, 3_000_000];
        for (size, room) in sizes.into_iter().flat_map(|size| rooms.map(|room| (size, room))) {
            let (mut client, mut server) = pair().await;
            let sent = bytes(size);
            // More than the system holds for the two of them, so each has to wait for the other.
            let echo = tokio::spawn(async move {
                let mut space = vec![0; room];
                let mut all = Vec::new();
                while all.len() < size {
                    let count = server.read(&mut space).await.unwrap();
                    assert_ne!(count, 0);
                    all.extend_from_slice(&space[..count]);
                }
                server.write_all(&all).await.unwrap();
                assert_eq!(server.read(&mut space).await.unwrap(), 0, "the client's end");
            });
            let (mut from, mut to) = client.split();
            let write = async {
                to.write_all(&sent).await.unwrap();
                to.shutdown().await.unwrap();
            };
            let mut received = Vec::new();
            let both = async { tokio::join!(write, from.read_to_end(&mut received)).1 };
            let read = tokio::time::timeout(Duration::from_secs(30), both).await;
            read.expect("nobody waits for what is there").unwrap();
            assert!(received == sent, "{size} bytes, {room} at a time");
            echo.await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_end_may_come_with_the_last_bytes() {
        let (mut client, mut server) = pair().await;
        client.write_all(b"last").await.unwrap();
        drop(client);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"last");
        assert_eq!(server.read(&mut [0; 10]).await.unwrap(), 0);
        assert_eq!(server.read(&mut []).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn slices_are_written_one_after_the_other() {
        for sizes in [[0, 0], [1, 0], [100, 500], [TOGETHER, 1], [10, 1_000_000]] {
            let (mut client, mut server) = pair().await;
            let sent = bytes(sizes.iter().sum());
            let expected = sent.clone();
            let reading = tokio::spawn(async move {
                let mut received = Vec::new();
                client.read_to_end(&mut received).await.unwrap();
                assert!(received == expected);
            });
            let mut rest = sent.split_at(sizes[0]);
            while !(rest.0.is_empty() && rest.1.is_empty()) {
                let slices = [IoSlice::new(rest.0), IoSlice::new(rest.1)];
                let count = server.write_vectored(&slices).await.unwrap();
                let first = count.min(rest.0.len());
                rest = (&rest.0[first..], &rest.1[count - first..]);
            }
            drop(server);
            reading.await.unwrap();
        }
    }
}
