//! Subscriptions to the changes of a record or a list, which resume after a disconnect.

use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{Request, Response, StatusCode};
use mesh_ql::{Format, ParamValues, Query};

use super::{Client, ClientError, RecordId, collection, point, with_params};
use crate::route::percent;
use crate::sse::{self, Decoder, EventTooLarge};
use crate::{ErrorBody, QuerySource, headers};

/// The largest accepted event, in bytes.
const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A subscription to a record or a list. Send the request of [`Subscription::request`], check the head of the reply with
/// [`Subscription::is_stream`], and pass the bytes of its body to [`Subscription::feed`]. When the body ends, wait for the
/// time that [`Subscription::disconnected`] returns and send the next request, which resumes after the last event.
#[derive(Clone, Debug)]
pub struct Subscription {
    client: Client,
    entity: String,
    /// The id of the record; `None` for a list.
    id: Option<RecordId>,
    text: String,
    params: ParamValues,
    decoder: Decoder,
    last_event_id: String,
}

/// An event of a subscription.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The current record as JSON, `null` if it does not exist. For a list, the current page.
    Update(String),
    /// A read failed on the server, which may end the stream.
    Failed(Box<ErrorBody>),
}

impl Subscription {
    pub(super) fn new(client: Client, query: &Query, id: Option<RecordId>) -> Self {
        Self {
            client,
            entity: query.entity.value.clone(),
            id,
            text: mesh_ql::print_json(query),
            params: ParamValues::new(),
            decoder: Decoder::new(EVENT_BYTES),
            last_event_id: String::new(),
        }
    }

    /// Sets the values of the query's parameters. `SPEC §19.2`
    #[must_use]
    pub fn with_params(self, params: ParamValues) -> Self {
        Self { params, ..self }
    }

    /// Returns the request for the stream, which resumes after the last event.
    ///
    /// # Errors
    /// [`ClientError`] if the entity or id is empty or does not fit into a URL.
    pub fn request(&self) -> Result<Request<Bytes>, ClientError> {
        let endpoint = self.client.endpoint();
        let source = QuerySource::Text { format: Format::Json, text: self.text.clone() };
        let mut request = match &self.id {
            Some(id) => {
                let mut request = point(endpoint, &self.entity, id, &source)?;
                *request.uri_mut() =
                    endpoint.url(&[&percent::encode(&self.entity), &id.to_segment(), "events"])?;
                request
            }
            None => collection(endpoint, &self.entity, &source)?,
        };
        request = with_params(request, &self.params);
        let fields = request.headers_mut();
        fields.insert(ACCEPT, HeaderValue::from_static(sse::MEDIA_TYPE));
        let last = HeaderValue::try_from(&self.last_event_id).ok().filter(|last| !last.is_empty());
        if let Some(last) = last {
            fields.insert(sse::LAST_EVENT_ID, last);
        }
        self.client.sign(request)
    }

    /// Returns whether a reply is a stream. Decode any other reply with [`super::result`]: it is an error or, for a
    /// list on a server without streams, a page.
    pub fn is_stream<B>(reply: &Response<B>) -> bool {
        reply.status() == StatusCode::OK && headers::has_media_type(reply.headers(), sse::MEDIA_TYPE)
    }

    /// Decodes the next bytes of the body and returns the events that they complete.
    ///
    /// # Errors
    /// [`EventTooLarge`] for an event of more than 16 MiB. The rest of the body cannot be decoded.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<StreamEvent>, EventTooLarge> {
        let events = self.decoder.feed(bytes)?;
        self.decoder.last_id().clone_into(&mut self.last_event_id);
        let events = events.into_iter().filter_map(|event| match event.event.as_str() {
            sse::UPDATE => Some(StreamEvent::Update(event.data)),
            sse::ERROR => serde_json::from_str(&event.data).ok().map(StreamEvent::Failed),
            // Unknown events are ignored.
            _ => None,
        });
        Ok(events.collect())
    }

    /// Resets the decoder after the body has ended. Returns the delay before the next request, in milliseconds.
    pub fn disconnected(&mut self) -> u64 {
        let wait = self.decoder.retry_millis().unwrap_or_else(|| sse::RETRY_MILLIS.into());
        self.decoder = Decoder::new(EVENT_BYTES);
        wait
    }
}

#[cfg(test)]
mod tests;
