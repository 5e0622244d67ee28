//! Calls of the application's handlers, and their replies.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mesh_integrity::Session;
use mesh_plan::mutation::WriteReply;
use mesh_plan::plan::QuerySource;
use mesh_plan::{Change, Changes, Context, Error, Fields, JsonBody, Mesh, Principal, Request, WriteRequest};
use mesh_ql::Format;
use mesh_wire::{BasePath, WireError, response};

use crate::observability::error_log;
use crate::pipeline::effects::Effects;
use crate::routes::write::Shape;
use crate::routes::write::commit::{commit_and_read, fields};

/// A request to a route of the application, authenticated, with its whole body.
pub struct Call {
    pub(super) mesh: Arc<Mesh>,
    pub(super) changes: Changes,
    pub(super) base: BasePath,
    pub(super) context: Context,
    pub(super) effects: Option<Arc<Effects>>,
    pub(super) session: Option<Arc<Session>>,
    pub(super) params: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) shape: Option<Shape>,
    pub(super) body: Bytes,
}

impl Call {
    /// Returns the decoded path segment of a parameter; an empty text if the pattern has no parameter of that name.
    pub fn param(&self, name: &str) -> &str {
        self.params
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value.as_str()))
            .unwrap_or_default()
    }

    /// Returns the request's headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the body, which the signature covers if integrity is on.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Parses the members of the JSON body; an empty body has none.
    ///
    /// # Errors
    /// 415 for another content type, 400 if the body is not a JSON object.
    pub fn fields(&self) -> Result<Fields<'_>, WireError> {
        if self.body.is_empty() {
            return Ok(Fields::default());
        }
        fields(&self.headers, &self.body)
    }

    /// Returns the authenticated session; `None` if integrity is off.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Returns the principal of the session.
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal.as_deref()
    }

    /// Returns the context for resolvers and mutators.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the core, for operations that [`Call::read`] and [`Call::write`] do not cover.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Notifies event streams of a change. [`Call::write`] does so itself.
    pub fn notify(&self, change: Change) {
        self.changes.notify(change);
    }

    /// Reads with the permissions of this session.
    ///
    /// # Errors
    /// Those of a read route.
    pub async fn read(&self, request: Request<'_>) -> Result<JsonBody, WireError> {
        let plan = self.mesh.plan(&request.with_principal(self.principal()));
        let plan = plan.inspect_err(|error| error_log::plan_error(self.context.request_id(), error))?;
        self.mesh.read(&plan, &self.context).await.map_err(|error| {
            error_log::resolve_error(self.context.request_id(), &error);
            Error::Resolve(error).into()
        })
    }

    /// Writes with the permissions of this session: writable fields, and fields that the request sets with
    /// [`WriteRequest::with_server_values`].
    ///
    /// # Errors
    /// Those of a write route.
    pub async fn write(&self, request: WriteRequest<'_>) -> Result<WriteReply, WireError> {
        let mut request = request.with_principal(self.principal());
        if let (Some(Shape { text: shape, params, .. }), Some(QuerySource::Text { text, .. })) =
            (&self.shape, request.reply)
            && text == shape
        {
            request.reply_params = request.reply_params.or(params.as_ref());
        }
        let mutation = self.mesh.plan_write(&request);
        let mutation =
            mutation.inspect_err(|error| error_log::plan_error(self.context.request_id(), error))?;
        let mut context = self.context.clone();
        context.commit_gate = self.effects.as_ref().map(|effects| effects.new_gate());
        commit_and_read(&self.mesh, &self.changes, (mutation, None), context).await
    }

    /// Returns the query of the headers that shapes the reply, if there is one and it is not the signed body.
    pub fn shape(&self) -> Option<(Format, &str)> {
        self.shape.as_ref().map(|shape| (shape.format, shape.text.as_str()))
    }

    fn location(&self, written: &WriteReply) -> String {
        let id = self.mesh.id_segment(&written.entity, &written.id);
        response::location(&self.base, &written.entity, &id)
    }

    /// Returns the reply of a write that created a record: 201 with its location and, if there is one, its body.
    pub fn created(&self, written: WriteReply) -> Reply {
        Reply {
            status: None,
            location: Some(self.location(&written)),
            body: written.body.unwrap_or_default().map(|body| body.bytes),
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

/// The reply of a handler: JSON, or no content.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub(super) status: Option<StatusCode>,
    pub(super) location: Option<String>,
    pub(super) body: Option<Bytes>,
}

impl Reply {
    /// Creates a reply of 200 with JSON text.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// Creates a reply of 200 with a JSON value.
    pub fn value(value: &serde_json::Value) -> Self {
        Self::json(value.to_string())
    }

    /// Creates a reply of 204.
    pub fn no_content() -> Self {
        Self::default()
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }
}

/// 200 with the record, or 204 if the write has no shape.
impl From<WriteReply> for Reply {
    fn from(written: WriteReply) -> Self {
        Self { body: written.body.unwrap_or_default().map(|body| body.bytes), ..Self::default() }
    }
}
