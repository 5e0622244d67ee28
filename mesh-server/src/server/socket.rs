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
