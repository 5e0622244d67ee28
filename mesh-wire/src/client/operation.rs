//! Reads and writes that may take several requests, because a query is registered first.

use std::mem;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{Request, Response, StatusCode};
use mesh_ql::{Format, Query};
use ring::digest;
use serde::Deserialize;

use super::writes::Write;
use super::{Client, ClientError, ReplyError, collection, point, post, register, result, say_query};
use crate::{Code, QuerySource};

/// Queries up to this go into a header; longer ones are posted.
const HEADER_QUERY: usize = 8 * 1024;

/// A read or a write that is under way: send what [`Operation::request`] says, hand the reply to [`Operation::receive`], and
/// again until there is an answer.
#[derive(Clone, Debug)]
pub struct Operation {
    client: Client,
    what: What,
    /// Empty for a write whose answer is all scalar fields.
    text: String,
    step: Step,
}

/// What is asked of the server.
#[derive(Clone, Debug)]
enum What {
    /// A record, or without an id a list.
    Read { entity: String, id: Option<String> },
    /// A write.
    Write(Write),
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

impl Operation {
    pub(super) fn new(client: Client, query: &Query, id: Option<&str>) -> Self {
        let what = What::Read { entity: query.entity.clone(), id: id.map(str::to_owned) };
        Self { client, what, text: String::new(), step: Step::Text }.select(query)
    }

    pub(super) fn writing(client: Client, write: Write) -> Self {
        Self { client, what: What::Write(write), text: String::new(), step: Step::Text }
    }

    /// The same with what this query selects as its answer. Of a write that is the record which it leaves, and the
    /// query's root is that record's entity.
    #[must_use]
    pub fn select(self, query: &Query) -> Self {
        let text = mesh_ql::print_json(query);
        // A cursor makes a text of each page. To register those would fill the server's store for nothing.
        let is_page = query.root.controls.page.as_ref().is_some_and(|page| page.after.is_some());
        let step = if self.client.sends_ids() && !is_page { Step::Id(id_of(&text)) } else { Step::Text };
        let what = match self.what {
            What::Read { id, .. } => What::Read { entity: query.entity.clone(), id },
            write @ What::Write(_) => write,
        };
        Self { client: self.client, what, text, step }
    }

    /// The request to send next.
    ///
    /// # Errors
    /// Names that no URL can hold, and fields of a write that no JSON can.
    pub fn request(&self) -> Result<Request<Bytes>, ClientError> {
        let at = self.client.endpoint();
        let request = match &self.step {
            Step::Id(id) | Step::Registered(id) => self.say(&QuerySource::Id(id.clone())),
            Step::Register => register(at, Format::Json, &self.text),
            Step::Text => self.say(&QuerySource::Text { format: Format::Json, text: self.text.clone() }),
        };
        self.client.sign(request?)
    }

    fn say(&self, source: &QuerySource) -> Result<Request<Bytes>, ClientError> {
        let at = self.client.endpoint();
        match (&self.what, source) {
            (What::Read { id, .. }, QuerySource::Text { format, text }) if text.len() > HEADER_QUERY => {
                post(at, *format, text, id.as_deref())
            }
            (What::Read { entity, id: Some(id) }, _) => point(at, entity, id, source),
            (What::Read { entity, id: None }, _) => collection(at, entity, source),
            (What::Write(write), _) if self.text.is_empty() => write.request(at),
            (What::Write(write), _) => say_query(write.request(at)?, source),
        }
    }

    /// Takes the reply to the last request: the answer, or `None` where [`Operation::request`] has another one. A write
    /// that leaves no record has an empty answer.
    ///
    /// # Errors
    /// What the server refuses, and what is no reply of such a server.
    pub fn receive(&mut self, reply: Response<Bytes>) -> Result<Option<Bytes>, ReplyError> {
        let status = reply.status();
        let refused_as = |error: &ReplyError, code: Code| match error {
            ReplyError::Refused { body, .. } => body.code.as_deref() == Some(code.name()),
            ReplyError::Foreign { .. } => false,
        };
        let step = mem::replace(&mut self.step, Step::Text);
        if status == StatusCode::NO_CONTENT && matches!(self.what, What::Write(_)) && step != Step::Register {
            return Ok(Some(Bytes::new()));
        }
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
    format!("q_{}", HEXLOWER.encode(digest.as_ref().get(..16).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
