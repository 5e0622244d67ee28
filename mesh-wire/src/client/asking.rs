//! How does a client come to an answer? By one request, or by several where its query is not registered yet.

use std::mem;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use mesh_ql::{Format, Query};
use ring::digest;
use serde::Deserialize;

use super::{Client, ClientError, ReplyError, collection, point, post, register, result};
use crate::{Code, Source, headers};

/// Queries up to this go into a header; longer ones are posted.
const HEADER_QUERY: usize = 8 * 1024;

/// A read that is under way: send what [`Asking::request`] says, hand the reply to [`Asking::take`], and again
/// until there is an answer.
#[derive(Clone, Debug)]
pub struct Asking {
    client: Client,
    entity: String,
    id: Option<String>,
    text: String,
    step: Step,
}

/// What is to be sent next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The id that the query has by the rules.
    Id(String),
    /// The query, to be known from then on.
    Register,
    /// The id that the server gave.
    Registered(String),
    /// The query itself.
    Text,
}

#[derive(Deserialize)]
struct Registration {
    id: String,
}

impl Asking {
    pub(super) fn new(client: Client, query: &Query, id: Option<&str>) -> Self {
        let text = mesh_ql::print_json(query);
        // A cursor makes a text of each page. To register those would fill the server's store for nothing.
        let is_page = query.root.controls.page.as_ref().is_some_and(|page| page.after.is_some());
        let step = if client.sends_ids() && !is_page { Step::Id(id_of(&text)) } else { Step::Text };
        Self { client, entity: query.entity.clone(), id: id.map(str::to_owned), text, step }
    }

    /// The request to send next.
    ///
    /// # Errors
    /// Names that no URL can hold.
    pub fn request(&self) -> Result<Request<Bytes>, ClientError> {
        let at = self.client.endpoint();
        let request = match &self.step {
            Step::Id(id) | Step::Registered(id) => self.read(&Source::Id(id.clone())),
            Step::Register => register(at, Format::Json, &self.text),
            Step::Text if self.text.len() > HEADER_QUERY => {
                post(at, Format::Json, &self.text, self.id.as_deref())
            }
            Step::Text => self.read(&Source::Text { format: Format::Json, text: self.text.clone() }),
        };
        self.client.sign(request?)
    }

    fn read(&self, source: &Source) -> Result<Request<Bytes>, ClientError> {
        let at = self.client.endpoint();
        match &self.id {
            Some(id) => point(at, &self.entity, id, source),
            None => collection(at, &self.entity, source),
        }
    }

    /// Takes the reply to the last request: the answer, or `None` where [`Asking::request`] has another one.
    ///
    /// # Errors
    /// What the server refuses, and what is no reply of such a server.
    pub fn take(&mut self, reply: Response<Bytes>) -> Result<Option<Bytes>, ReplyError> {
        let status = reply.status();
        let refused_as = |error: &ReplyError, code: Code| match error {
            ReplyError::Refused { body, .. } => body.code.as_deref() == Some(code.name()),
            ReplyError::Foreign { .. } => false,
        };
        let step = mem::replace(&mut self.step, Step::Text);
        match (step, result(reply)) {
            (Step::Register, Ok(body)) => {
                let registered = serde_json::from_slice::<Registration>(&body);
                let Registration { id } = registered.map_err(|_| ReplyError::Foreign { status })?;
                self.step = Step::Registered(id);
                Ok(None)
            }
            // A server that registers nothing may still read texts.
            (Step::Register, Err(_)) if registers_nothing(status) => Ok(None),
            (Step::Id(_), Err(error)) if refused_as(&error, Code::QueryIdUnknown) => {
                self.step = Step::Register;
                Ok(None)
            }
            // Registered with one server and asked of another that does not share its store.
            (Step::Registered(_), Err(error)) if refused_as(&error, Code::QueryIdUnknown) => Ok(None),
            (step, answer) => {
                self.step = step;
                answer.map(Some)
            }
        }
    }
}

/// Whether a refused registration says so for every query: there is no such route, or it is closed.
fn registers_nothing(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::FORBIDDEN)
}

/// The id of a query, which every server makes in the same way. `SPEC §8.2`
fn id_of(text: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(Format::Json.name().as_bytes());
    context.update(&[0]);
    context.update(text.as_bytes());
    let digest = context.finish();
    let half: Vec<u8> = digest.as_ref().iter().copied().take(16).collect();
    format!("q_{}", headers::hex(&half))
}

#[cfg(test)]
mod tests;
