//! The minimum rate of request bodies: a client may pause, but not hold a connection indefinitely.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::Stream;
use mesh_wire::WireError;
use tokio::time::{Instant, Sleep};

/// The minimum rate of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The number of bytes that extend the time that the server waits by one second.
    pub bytes_per_second: u32,
    /// How long the server waits in total if nothing arrives.
    pub grace: Duration,
}

/// A body whose sender is held to a pace. Only time spent waiting for the sender counts, not time spent writing to a
/// disk.
pub(crate) struct Paced<S> {
    body: S,
    pace: Pace,
    /// The remaining time that the server waits, at most `grace`. Received bytes extend it.
    left: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Paced<S> {
    pub(crate) fn new(body: S, pace: Pace) -> Self {
        Self { body, pace, left: pace.grace, waiting: None }
    }

    fn earn(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        let earned = bytes as f64 / f64::from(self.pace.bytes_per_second);
        let earned = Duration::try_from_secs_f64(earned).unwrap_or(self.pace.grace);
        self.left = self.left.saturating_add(earned).min(self.pace.grace);
    }
}

impl<S: Stream<Item = Result<Bytes, E>> + Unpin, E> Stream for Paced<S> {
    type Item = Result<Bytes, WireError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Poll::Ready(next) = Pin::new(&mut this.body).poll_next(cx) {
            return Poll::Ready(next.map(|chunk| match chunk {
                Ok(bytes) => {
                    this.earn(bytes.len());
                    Ok(bytes)
                }
                Err(_) => Err(WireError::transport("The body ended before it was complete")),
            }));
        }
        let (left, pace) = (this.left, this.pace);
        let (_, sleep) = this.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + left)))
        });
        ready!(sleep.as_mut().poll(cx));
        let message =
            format!("The body arrived too slowly; send at least {} bytes per second", pace.bytes_per_second);
        Poll::Ready(Some(Err(WireError::transport(message))))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, StreamExt as _};

    use super::*;

    const PACE: Pace = Pace { bytes_per_second: 1000, grace: Duration::from_secs(10) };

    /// Counts the chunks that pass if one of `size` bytes arrives every second.
    async fn chunks_passed(size: usize) -> usize {
        let chunks = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from(vec![0; size])), ()))
        });
        let paced = Paced::new(Box::pin(chunks), PACE);
        paced.take(100).take_while(|chunk| std::future::ready(chunk.is_ok())).count().await
    }

    #[tokio::test(start_paused = true)]
    async fn slow_senders_are_refused_and_steady_ones_are_not() {
        assert_eq!(chunks_passed(1100).await, 100);
        assert!(
            (9..=21).contains(&chunks_passed(500).await),
            "half the pace uses up the grace in twenty seconds"
        );
        assert!((9..=10).contains(&chunks_passed(1).await));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_received_quickly_extend_the_wait_to_the_grace_only() {
        let chunks =
            stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![0; 1_000_000]))]).chain(stream::pending());
        let mut paced = Paced::new(chunks, PACE);
        assert!(paced.next().await.unwrap().is_ok());
        let begun = Instant::now();
        assert!(paced.next().await.unwrap().is_err());
        assert_eq!(begun.elapsed().as_secs(), 10);
    }
}
