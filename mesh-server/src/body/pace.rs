//! Does a long body come fast enough? A client may be slow for a while, but not hold a connection for ever.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt as _};
use mesh_wire::WireError;
use tokio::time::{Instant, Sleep};

/// The least rate at which a body must come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// What one second of waiting costs.
    pub(crate) bytes_per_second: u32,
    /// How long the server waits in all when nothing comes.
    pub(crate) grace: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { bytes_per_second: 4096, grace: Duration::from_secs(15) }
    }
}

/// A body whose sender is kept to a pace. Only time spent waiting for the sender counts, so a slow disk is
/// not the client's fault.
pub(crate) struct Paced<S> {
    body: S,
    pace: Pace,
    /// How long the sender may still keep us waiting: `grace` at most, earned back by bytes.
    left: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Paced<S> {
    pub(crate) fn new(body: S, pace: Pace) -> Self {
        Self { body, pace, left: pace.grace, waiting: None }
    }

    /// All of it, or `None` where it is longer than that.
    pub(super) async fn gather<E>(mut self, limit: usize) -> Result<Option<Bytes>, WireError>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
    {
        let mut chunks = Vec::new();
        let mut length = 0;
        while let Some(chunk) = self.next().await.transpose()? {
            length += chunk.len();
            if length > limit {
                return Ok(None);
            }
            chunks.push(chunk);
        }
        Ok(Some(match chunks.len() {
            1 => chunks.pop().unwrap_or_default(),
            _ => chunks.concat().into(),
        }))
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
                Err(_) => Err(WireError::transport("The body broke off before its end")),
            }));
        }
        let (left, pace) = (this.left, this.pace);
        let (_, sleep) = this.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(tokio::time::sleep_until(now + left)))
        });
        ready!(sleep.as_mut().poll(cx));
        let words =
            format!("The body came too slowly; send at least {} bytes a second", pace.bytes_per_second);
        Poll::Ready(Some(Err(WireError::transport(words))))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const PACE: Pace = Pace { bytes_per_second: 1000, grace: Duration::from_secs(10) };

    /// How many chunks come through when one of that size comes every second.
    async fn of_size(size: usize) -> usize {
        let chunks = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from(vec![0; size])), ()))
        });
        let paced = Paced::new(Box::pin(chunks), PACE);
        paced.take(100).take_while(|chunk| std::future::ready(chunk.is_ok())).count().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_sender_is_given_up_and_a_steady_one_is_not() {
        assert_eq!(of_size(1100).await, 100);
        assert!((9..=21).contains(&of_size(500).await), "half the pace uses up the grace in twenty seconds");
        assert!((9..=10).contains(&of_size(1).await));
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_fast_is_no_credit_for_ever() {
        let chunks =
            stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![0; 1_000_000]))]).chain(stream::pending());
        let mut paced = Paced::new(chunks, PACE);
        assert!(paced.next().await.unwrap().is_ok());
        let begun = Instant::now();
        assert!(paced.next().await.unwrap().is_err());
        assert_eq!(begun.elapsed().as_secs(), 10);
    }
}
