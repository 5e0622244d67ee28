//! What does a handler of the application know of its request, and what may it answer?

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mesh_integrity::Session;
use mesh_plan::{
    Change, Changes, Context, Error, Fields, JsonBody, Mesh, Principal, Request, WriteReply, WriteRequest,
};
use mesh_ql::Format;
use mesh_wire::{WireError, base64, headers, request, response};

use super::super::admit::Admitted;
use super::super::{Exchange, read, write};
use crate::app::Shared;

/// A request to a route of the application, admitted and read whole.
pub struct Call {
    shared: Arc<Shared>,
    context: Context,
    session: Option<Arc<Session>>,
    params: Vec<(String, String)>,
    headers: HeaderMap,
    shape: Option<(Format, String)>,
    body: Bytes,
}

impl Call {
    pub(super) async fn new(
        cx: &Exchange<'_>,
        admitted: &Admitted,
        params: Vec<(String, String)>,
        body: Bytes,
    ) -> Result<Self, WireError> {
        let header = headers::single(cx.asked.headers, headers::QUERY)?;
        let signed = header.and_then(|value| base64::decode(value.as_bytes()).ok());
        let is_body = signed.is_some_and(|text| text.as_bytes() == body || text == "{}");
        let shape = if is_body { None } else { write::shape(cx).await? };
        Ok(Self {
            shape,
            shared: Arc::clone(cx.shared),
            context: cx.context(admitted),
            session: admitted.session().cloned(),
            params,
            headers: cx.asked.headers.clone(),
            body,
        })
    }

    /// The decoded segment of the path that the pattern calls so; empty where it calls none so.
    pub fn param(&self, name: &str) -> &str {
        self.params
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value.as_str()))
            .unwrap_or_default()
    }

    /// The request's headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body's bytes, which the signature covers where integrity is on.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The members of the JSON body; none of an empty one.
    ///
    /// # Errors
    /// 415 for another content type, 400 for what is no JSON object.
    pub fn fields(&self) -> Result<Fields, WireError> {
        if self.body.is_empty() {
            return Ok(Fields::default());
        }
        if !request::is_json(&self.headers) {
            return Err(WireError::unsupported_media_type());
        }
        Fields::parse(&self.body).map_err(|error| WireError::transport(error.to_string()))
    }

    /// The session whose token and signature were checked; `None` where integrity is off.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Who the session says is asking.
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal.as_deref()
    }

    /// What resolvers and mutators are told of this request.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The core, for what goes beyond [`Call::read`] and [`Call::write`].
    pub fn mesh(&self) -> &Mesh {
        &self.shared.mesh
    }

    /// Tells those who watch a record that it has changed. What [`Call::write`] writes is told by itself.
    pub fn notify(&self, change: Change) {
        self.shared.changes.notify(change);
    }

    /// The notice board itself.
    pub fn changes(&self) -> &Changes {
        &self.shared.changes
    }

    /// Reads as a client of this session would.
    ///
    /// # Errors
    /// Those of a read route.
    pub async fn read(&self, request: Request<'_>) -> Result<JsonBody, WireError> {
        let plan = self.shared.mesh.plan(&request.by(self.principal()));
        let plan = plan.inspect_err(|error| read::log_plan(self.context.request_id(), error))?;
        self.shared.mesh.read(&plan, &self.context).await.map_err(|error| {
            read::log(self.context.request_id(), &error);
            Error::Resolve(error).into()
        })
    }

    /// Writes as a client of this session would if there were write routes: only fields that are writable,
    /// and what the request sets by itself.
    ///
    /// # Errors
    /// Those of a write route.
    pub async fn write(&self, request: WriteRequest<'_>) -> Result<WriteReply, WireError> {
        let mutation = self.shared.mesh.plan_write(&request.by(self.principal()));
        let mutation = mutation.inspect_err(|error| read::log_plan(self.context.request_id(), error))?;
        write::carry_out(&self.shared, mutation, self.context.clone()).await
    }

    /// The query in the headers that shapes the reply, where there is one that is not the signed body.
    pub fn shape(&self) -> Option<(Format, &str)> {
        self.shape.as_ref().map(|(format, text)| (*format, text.as_str()))
    }

    /// The reply of a write that has created a record: 201 with its place and, where there is one, its body.
    pub fn created(&self, written: WriteReply) -> Reply {
        Reply {
            status: None,
            location: Some(response::location(&self.shared.base, &written.entity, &written.id)),
            body: written.body.map(|body| body.bytes),
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("context", &self.context)
            .field("params", &self.params)
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What a handler answers: JSON, or nothing.
#[derive(Clone, Debug)]
pub struct Reply {
    status: Option<StatusCode>,
    location: Option<String>,
    body: Option<Bytes>,
}

impl Reply {
    /// 200 with JSON text.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self { status: None, location: None, body: Some(body.into()) }
    }

    /// 200 with a JSON value.
    pub fn value(value: &serde_json::Value) -> Self {
        Self::json(value.to_string())
    }

    /// 204.
    pub fn no_content() -> Self {
        Self { status: None, location: None, body: None }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    pub(super) fn into_parts(self) -> (Option<StatusCode>, Option<String>, Option<Bytes>) {
        (self.status, self.location, self.body)
    }
}

/// 200 with the record, or 204 where the write shows none.
impl From<WriteReply> for Reply {
    fn from(written: WriteReply) -> Self {
        Self { status: None, location: None, body: written.body.map(|body| body.bytes) }
    }
}
