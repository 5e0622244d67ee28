//! Reads and writes, which take several requests if a query is registered first.

use std::mem;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::IF_MATCH;
use http::{Request, Response, StatusCode};
use mesh_ql::{Format, ParamValues, Query};
use ring::digest;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::writes::Write;
use super::{
    Client, ClientError, RecordId, ReplyError, collection, params_text, point, post, register, result,
    set_query, with_params,
};
use crate::{Code, ETag, QuerySource};

/// The longest query that is sent in a header, in bytes. Longer ones are posted.
const MAX_HEADER_QUERY: usize = 8 * 1024;

/// A read or a write in progress. Send the request of [`Operation::request`] and pass the reply to
/// [`Operation::receive`], until it returns the answer.
#[derive(Clone, Debug)]
pub struct Operation {
    client: Client,
    action: Action,
    /// The text of the query. Empty for a write that returns all scalar fields.
    text: String,
    /// The values of its parameters.
    params: ParamValues,
    /// The tag that the record must have for a write to succeed.
    if_match: Option<ETag>,
    step: Step,
}

/// What the operation does.
#[derive(Clone, Debug)]
enum Action {
    /// Reads a record, or a list if there is no id.
    Read { entity: String, id: Option<RecordId> },
    /// Writes.
    Write(Write),
}

/// The next request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The read or write with the computed id of the query.
    Id(String),
    /// The registration of the query.
    Register,
    /// The read or write with the id that the server assigned.
    Registered(String),
    /// The read or write with the text of the query.
    Text,
}

impl Operation {
    pub(super) fn new(client: Client, query: &Query, id: Option<RecordId>) -> Self {
        let action = Action::Read { entity: query.entity.value.clone(), id };
        let (text, params) = (String::new(), ParamValues::new());
        Self { client, action, text, params, if_match: None, step: Step::Text }.select(query)
    }

    pub(super) fn writing(client: Client, write: Write) -> Self {
        let (text, params) = (String::new(), ParamValues::new());
        Self { client, action: Action::Write(write), text, params, if_match: None, step: Step::Text }
    }

    /// Sets the values of the query's parameters. Writes have none. `SPEC §19.2`
    #[must_use]
    pub fn with_params(self, params: ParamValues) -> Self {
        Self { params, ..self }
    }

    /// Makes an update or a deletion fail with status 412 unless the record has this tag. Compute the tag from the
    /// answer to a point read with the same query: `ETag::new(&answer)`. `SPEC §18.3`
    #[must_use]
    pub fn if_match(self, tag: ETag) -> Self {
        Self { if_match: Some(tag), ..self }
    }

    /// Sets the query that shapes the answer. For a write, the query's root must be the entity of the resulting record.
    #[must_use]
    pub fn select(self, query: &Query) -> Self {
        let text = mesh_ql::print_json(query);
        // Each page has a different cursor and therefore a different text, which is not worth registering.
        let is_page = query.root.controls.page.as_ref().is_some_and(|page| {
            [&page.after, &page.before].into_iter().flatten().any(|it| it.value.value().is_some())
        });
        let step = if self.client.persisted && !is_page { Step::Id(query_id(&text)) } else { Step::Text };
        let action = match self.action {
            Action::Read { id, .. } => Action::Read { entity: query.entity.value.clone(), id },
            write @ Action::Write(_) => write,
        };
        Self { action, text, step, ..self }
    }

    /// Returns the next request to send.
    ///
    /// # Errors
    /// [`ClientError`] if a segment of the path is empty or does not fit into a URL, or the fields of a write cannot be
    /// serialized.
    pub fn request(&self) -> Result<Request<Bytes>, ClientError> {
        let endpoint = self.client.endpoint();
        let request = match &self.step {
            Step::Id(id) | Step::Registered(id) => self.with_query(&QuerySource::Id(id.clone())),
            Step::Register => register(endpoint, Format::Json, &self.text),
            Step::Text => {
                self.with_query(&QuerySource::Text { format: Format::Json, text: self.text.clone() })
            }
        };
        self.client.sign(request?)
    }

    fn with_query(&self, source: &QuerySource) -> Result<Request<Bytes>, ClientError> {
        let (endpoint, params) = (self.client.endpoint(), &self.params);
        match (&self.action, source) {
            (Action::Read { id, .. }, QuerySource::Text { format, text })
                if text.len() + params_text(params).len() > MAX_HEADER_QUERY =>
            {
                Ok(with_params(post(endpoint, *format, text, id.clone())?, params))
            }
            (Action::Read { entity, id: Some(id) }, _) => {
                Ok(with_params(point(endpoint, entity, id, source)?, params))
            }
            (Action::Read { entity, id: None }, _) => {
                Ok(with_params(collection(endpoint, entity, source)?, params))
            }
            (Action::Write(write), _) => {
                let mut request = write.request(endpoint)?;
                request.headers_mut().extend(self.if_match.iter().map(|tag| (IF_MATCH, tag.value())));
                if self.text.is_empty() { Ok(request) } else { set_query(request, source) }
            }
        }
    }

    /// Decodes the reply to the last request like [`Operation::receive`], and deserializes the answer. For a point read
    /// or a write, `T` is a struct with the selected fields, or `()` if the write has no resulting record. For a list,
    /// `T` is a [`List`](super::List) of such structs.
    ///
    /// # Errors
    /// The errors of [`Operation::receive`], and [`ReplyError::Type`] if the answer does not match the type.
    pub fn receive_as<T: DeserializeOwned>(
        &mut self,
        reply: Response<Bytes>,
    ) -> Result<Option<T>, ReplyError> {
        self.receive(reply)?.map(|answer| typed(&answer)).transpose()
    }

    /// Decodes the reply to the last request. Returns the answer, or `None` if [`Operation::request`] returns another
    /// request to send. The answer to a write without a resulting record is empty.
    ///
    /// # Errors
    /// [`ReplyError`] if the server refused the request, or the reply is not one of a Mesh server.
    pub fn receive(&mut self, reply: Response<Bytes>) -> Result<Option<Bytes>, ReplyError> {
        let status = reply.status();
        let has_code = |error: &ReplyError, code: Code| match error {
            ReplyError::Refused { body, .. } => body.code.as_deref() == Some(code.as_str()),
            ReplyError::Unexpected { .. } | ReplyError::Type { .. } => false,
        };
        let step = mem::replace(&mut self.step, Step::Text);
        if status == StatusCode::NO_CONTENT
            && matches!(self.action, Action::Write(_))
            && step != Step::Register
        {
            return Ok(Some(Bytes::new()));
        }
        match (step, result(reply)) {
            (Step::Register, Ok(body)) => {
                let registration = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                let id = registration.get("id").and_then(Value::as_str);
                self.step = Step::Registered(id.ok_or(ReplyError::Unexpected { status })?.to_owned());
                Ok(None)
            }
            // A server that does not register a query may still accept its text.
            (Step::Register, Err(_)) if is_registration_disabled(status) => Ok(None),
            (Step::Id(_), Err(error)) if has_code(&error, Code::QueryIdUnknown) => {
                self.step = Step::Register;
                Ok(None)
            }
            // The reply is from another server, which does not share its store with the one that registered the query.
            (Step::Registered(_), Err(error)) if has_code(&error, Code::QueryIdUnknown) => Ok(None),
            (step, answer) => {
                self.step = step;
                answer.map(Some)
            }
        }
    }
}

/// Deserializes an answer. An empty answer is read as `null`.
fn typed<T: DeserializeOwned>(answer: &[u8]) -> Result<T, ReplyError> {
    let answer = if answer.is_empty() { b"null" } else { answer };
    serde_json::from_slice(answer).map_err(|error| ReplyError::Type { why: error.to_string() })
}

/// Returns whether a status means that the server refuses all registrations.
fn is_registration_disabled(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::FORBIDDEN)
}

/// Computes the id of a query. `SPEC §8.2`
fn query_id(text: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(Format::Json.as_str().as_bytes());
    context.update(&[0]);
    context.update(text.as_bytes());
    let digest = context.finish();
    format!("q_{}", HEXLOWER.encode(digest.as_ref().get(..16).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
