//! What does one client get, and when? Its stream, which holds nothing but its place.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream;
use hyper::body::Frame;
use mesh_wire::{RequestId, WireError, sse};
use tokio::sync::watch;

use super::heartbeat::{Lifeline, Pulse};
use super::hub::Shared;
use super::shared_reading::{Answer, Topic};

/// A client's place in a topic.
pub(crate) struct Subscription {
    shared: Arc<Shared>,
    latest: watch::Receiver<Option<Answer>>,
    pulse: Option<watch::Receiver<Pulse>>,
    request_id: RequestId,
    /// What the client has: the digest of the last data sent to it.
    seen: Option<Arc<str>>,
    /// Keeps the topic alive.
    _topic: Arc<Topic>,
    lifeline: Option<Arc<Lifeline>>,
    done: bool,
}

impl Subscription {
    pub(super) fn new(
        shared: &Arc<Shared>,
        topic: Arc<Topic>,
        latest: watch::Receiver<Option<Answer>>,
        lifeline: Option<Arc<Lifeline>>,
        request_id: RequestId,
    ) -> Self {
        shared.streams.fetch_add(1, Ordering::SeqCst);
        Self {
            shared: Arc::clone(shared),
            latest,
            pulse: shared.pulses.join(),
            request_id,
            seen: None,
            _topic: topic,
            lifeline,
            done: false,
        }
    }

    /// The stream's bytes, frame by frame. A client that has the record as it is now is not sent it again.
    pub(crate) fn into_frames(
        mut self,
        last_event_id: Option<&str>,
    ) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static {
        self.seen = last_event_id.map(Into::into);
        let mut first = sse::retry(sse::RETRY_MILLIS).to_vec();
        if let Some(frame) = self.news() {
            first.extend_from_slice(&frame);
        }
        let first = Bytes::from(first);
        stream::unfold((self, Some(first)), |(mut subscription, first)| async move {
            let frame = match first {
                Some(first) => first,
                None => subscription.next().await?,
            };
            Some((Ok(Frame::data(frame)), (subscription, None)))
        })
    }

    /// The newest answer as an event, if the client does not have it.
    fn news(&mut self) -> Option<Bytes> {
        let answer = self.latest.borrow_and_update().clone()?;
        match answer {
            Answer::Update { id, .. } if self.seen.as_ref() == Some(&id) => None,
            Answer::Update { id, frame } => {
                self.seen = Some(id);
                Some(frame)
            }
            Answer::Failed(error) => Some(self.error(&error)),
        }
    }

    fn error(&self, error: &WireError) -> Bytes {
        sse::error(&error.body(&self.request_id))
    }

    /// Waits for something to send; `None` is the end.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.done {
            tokio::select! {
                biased;
                error = ended(self.lifeline.as_deref()) => {
                    self.done = true;
                    return Some(self.error(&error));
                }
                pulse = beat(self.pulse.as_mut()) => match pulse {
                    Some(Pulse { closed: false, .. }) => return Some(sse::heartbeat()),
                    _ => return None,
                },
                changed = self.latest.changed() => {
                    // The topic lives as long as this does, so it has not ended.
                    changed.ok()?;
                    if let Some(frame) = self.news() {
                        return Some(frame);
                    }
                }
            }
        }
        None
    }
}

/// The next beat; `None` where there will be none.
async fn beat(pulse: Option<&mut watch::Receiver<Pulse>>) -> Option<Pulse> {
    let pulse = pulse?;
    let known = pulse.borrow().closed;
    if !known {
        pulse.changed().await.ok()?;
    }
    Some(*pulse.borrow_and_update())
}

/// How the session has ended, as soon as it has; streams without one wait for ever.
async fn ended(lifeline: Option<&Lifeline>) -> Arc<WireError> {
    match lifeline {
        Some(lifeline) => lifeline.ended().await,
        None => std::future::pending().await,
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.streams.fetch_sub(1, Ordering::SeqCst);
    }
}
