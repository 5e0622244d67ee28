//! The event stream of one client.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::stream::{self, Stream, StreamExt as _};
use hyper::body::Frame;
use mesh_wire::{RequestId, WireError, sse};
use tokio::sync::watch;
use tokio::time::Interval;

use super::registry::Membership;
use super::sessions::SessionEnd;
use super::shared_reading::Outcome;

/// A client's subscription to a record or a list.
pub(crate) struct Subscription {
    pub(super) latest: watch::Receiver<Option<Outcome>>,
    pub(super) heartbeat: Interval,
    pub(super) session: Option<SessionEnd>,
    /// Becomes `true` when all streams end.
    pub(super) ended: watch::Receiver<bool>,
    pub(super) request_id: RequestId,
    /// The digest of the data that the client has.
    pub(super) sent: Option<Arc<str>>,
    pub(super) has_failed: bool,
    pub(super) _membership: Membership,
}

impl Subscription {
    /// Returns the frames of the stream. The current data is skipped if the client received the same data last.
    pub(crate) fn into_frames(
        mut self,
        last_event_id: Option<&str>,
    ) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static {
        self.sent = last_event_id.map(Into::into);
        // The event is a frame of its own, because its bytes are shared by all subscriptions.
        let retry = stream::iter([sse::retry(sse::RETRY_MILLIS)]);
        let events = stream::unfold((self, true), |(mut subscription, is_first)| async move {
            let first = if is_first { subscription.unsent_event() } else { None };
            let frame = match first {
                Some(event) => event,
                None => subscription.next().await?,
            };
            Some((frame, (subscription, false)))
        });
        retry.chain(events).map(|frame| Ok(Frame::data(frame)))
    }

    /// Returns the latest outcome as an event, unless the client has it.
    fn unsent_event(&mut self) -> Option<Bytes> {
        let outcome = self.latest.borrow_and_update().clone()?;
        match outcome {
            Outcome::Update { digest, event } => {
                let is_new = self.sent.as_ref() != Some(&digest);
                self.sent = Some(digest);
                is_new.then_some(event)
            }
            Outcome::Failed(error) => Some(self.error_event(&error)),
        }
    }

    fn error_event(&self, error: &WireError) -> Bytes {
        sse::error(&error.body(&self.request_id))
    }

    /// Waits for the next frame; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.has_failed {
            tokio::select! {
                biased;
                error = session_ended(self.session.as_mut()) => {
                    self.has_failed = true;
                    return Some(self.error_event(&error));
                }
                () = self.ended.wait_for(|ended| *ended).map(drop) => return None,
                _ = self.heartbeat.tick() => return Some(sse::heartbeat()),
                changed = self.latest.changed() => {
                    changed.ok()?;
                    if let Some(event) = self.unsent_event() {
                        return Some(event);
                    }
                }
            }
        }
        None
    }
}

/// Waits for the error with which a session ends; never completes without a session.
async fn session_ended(session: Option<&mut SessionEnd>) -> Arc<WireError> {
    if let Some(session) = session
        && let Ok(error) = session.wait_for(Option::is_some).await
        && let Some(error) = &*error
    {
        return Arc::clone(error);
    }
    std::future::pending().await
}
