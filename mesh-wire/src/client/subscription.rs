//! Subscriptions to the changes of a record, which resume after a disconnection.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use mesh_ql::{Format, Query};

use super::{Client, ClientError, point};
use crate::sse::{self, Decoder, EventTooLarge};
use crate::{ErrorBody, QuerySource, headers};

/// The largest event that is taken, in bytes.
const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A stream that is being read. Send what [`Subscription::request`] says, check the reply's head with
/// [`Subscription::is_stream`], and hand the bytes of its body to [`Subscription::feed`] as they come. When the body
/// ends, wait as long as [`Subscription::disconnected`] says and send the request again: what has been seen is not sent
/// twice.
#[derive(Clone, Debug)]
pub struct Subscription {
    client: Client,
    entity: String,
    id: String,
    text: String,
    decoder: Decoder,
    last: String,
}

/// What a stream says.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The record as it is now, in JSON; `null` where it is gone.
    Update(String),
    /// The server failed to read it this time, or ends the stream for that reason.
    Failed(Box<ErrorBody>),
}

impl Subscription {
    pub(super) fn new(client: Client, query: &Query, id: &str) -> Self {
        Self {
            client,
            entity: query.entity.clone(),
            id: id.to_owned(),
            text: mesh_ql::print_json(query),
            decoder: Decoder::new(EVENT_BYTES),
            last: String::new(),
        }
    }

    /// The request of the stream, from what was seen last on.
    ///
    /// # Errors
    /// Names that no URL can hold.
    pub fn request(&self) -> Result<Request<Bytes>, ClientError> {
        let at = self.client.endpoint();
        let source = QuerySource::Text { format: Format::Json, text: self.text.clone() };
        let mut request = point(at, &self.entity, &self.id, &source)?;
        *request.uri_mut() = at.at(&[&self.entity, &self.id, "events"])?;
        let fields = request.headers_mut();
        fields.insert(ACCEPT, HeaderValue::from_static(sse::MEDIA_TYPE));
        let last = HeaderValue::try_from(&self.last).ok().filter(|last| !last.is_empty());
        if let Some(last) = last {
            fields.insert(sse::LAST_EVENT_ID, last);
        }
        self.client.sign(request)
    }

    /// Whether a reply is the stream. Otherwise it is an error, to be read whole by [`super::result`].
    pub fn is_stream<B>(reply: &Response<B>) -> bool {
        let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        reply.status() == StatusCode::OK && content_type.is_some_and(|it| headers::names(it, sse::MEDIA_TYPE))
    }

    /// Takes bytes of the body, and gives the events that are whole with them.
    ///
    /// # Errors
    /// An event that is too large. Nothing more can be read from this body.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<StreamEvent>, EventTooLarge> {
        let events = self.decoder.feed(bytes)?;
        self.decoder.last_id().clone_into(&mut self.last);
        let seen = events.into_iter().filter_map(|event| match event.event.as_str() {
            sse::UPDATE => Some(StreamEvent::Update(event.data)),
            sse::ERROR => serde_json::from_str(&event.data).ok().map(StreamEvent::Failed),
            // An event of another time.
            _ => None,
        });
        Ok(seen.collect())
    }

    /// The body has ended or broken off. Says how many milliseconds to wait before the next request.
    pub fn disconnected(&mut self) -> u64 {
        let wait = self.decoder.retry_millis().unwrap_or_else(|| sse::RETRY_MILLIS.into());
        self.decoder = Decoder::new(EVENT_BYTES);
        wait
    }
}

#[cfg(test)]
mod tests;
