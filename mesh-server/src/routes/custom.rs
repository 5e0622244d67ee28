//! Requests to routes that an application defines in a router of its own. They pass the same stages as all others: a
//! handler is called with an authenticated caller and a body that the signature covers. `SPEC §7.4`

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use mesh_plan::mutation::WriteReply;
use mesh_plan::plan::QuerySource;
use mesh_plan::{BoxFuture, Change, Context, Fields, JsonBody, Mesh, Principal, Request, WriteRequest};
use mesh_ql::Format;
use mesh_wire::{WireError, base64, response};

use crate::app::shared::Shared;
use crate::identity::caller::Caller;
use crate::identity::signed::Content;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::effects::Effects;
use crate::routes::write::{self, Shape, commit};

/// The function of an application that answers a request.
pub(crate) type Handler = Box<dyn FnOnce(Call) -> BoxFuture<'static, Result<Reply, WireError>> + Send>;

/// Authenticates a request, reads its body and calls the handler.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    handler: Handler,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Application, body).await?;
    // The query header may hold the signed body instead of a query that shapes the reply.
    let signed = cx.mesh_headers.query.and_then(|value| base64::decode(value.as_bytes()).ok());
    let is_body = signed.is_some_and(|text| text.as_bytes() == body || text == "{}");
    let shape = if is_body { None } else { write::shape(cx, &caller).await? };
    let handling = handler(Call {
        shared: Arc::clone(cx.shared),
        context: cx.resolver_context(&caller),
        effects: cx.effects.cloned(),
        caller,
        shape,
        headers: cx.head.headers.clone(),
        body,
    });
    let is_safe = matches!(*cx.head.method, Method::GET | Method::HEAD);
    let handled = if is_safe {
        admission::run(cx, handling).await?
    } else {
        admission::begin_write(cx)?;
        // A write of the handler that has begun before the deadline ends within this time.
        let end = cx.deadline + cx.shared.options.limits.request_timeout;
        tokio::time::timeout_at(end.into(), handling).await.ok()
    };
    let late = || match cx.effects {
        Some(effects) if !effects.prevent() => Err(WireError::outcome_unknown()),
        _ => Err(WireError::timeout()),
    };
    let Reply { location, body } = handled.unwrap_or_else(late)?;
    let mut reply = match body {
        Some(body) if is_safe => response::read(&cx.head, body, None),
        body => response::written(&cx.head, location, body),
    };
    if is_safe && cx.shared.options.authenticator.identifies_callers() {
        response::set_private(&mut reply);
    }
    Ok(reply.map(Body::from))
}

/// A request to a route of the application, authenticated, with its whole body.
#[non_exhaustive]
pub struct Call {
    /// The authenticated caller.
    pub caller: Caller,
    /// The context for resolvers and mutators.
    pub context: Context,
    /// The body, which the signature covers if integrity is on.
    pub body: Bytes,
    shared: Arc<Shared>,
    effects: Option<Arc<Effects>>,
    shape: Option<Shape>,
    headers: HeaderMap,
}

impl Call {
    /// Parses the members of the JSON body; an empty body has none.
    ///
    /// # Errors
    /// 415 for another content type, 400 if the body is not a JSON object.
    pub fn fields(&self) -> Result<Fields<'_>, WireError> {
        if self.body.is_empty() {
            return Ok(Fields::default());
        }
        commit::fields(&self.headers, &self.body)
    }

    /// Returns the principal of the caller.
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal.as_deref()
    }

    /// Returns the core, for operations that [`Call::read`] and [`Call::write`] do not cover.
    pub fn mesh(&self) -> &Mesh {
        &self.shared.mesh
    }

    /// Notifies event streams of a change. [`Call::write`] does so itself.
    pub fn notify(&self, change: Change) {
        self.shared.options.changes.notify(change);
    }

    /// Reads with the permissions of this session.
    ///
    /// # Errors
    /// Those of a read route.
    pub async fn read(&self, request: Request<'_>) -> Result<JsonBody, WireError> {
        let plan = self.mesh().plan(&request.with_principal(self.principal()));
        let plan = plan.map_err(|error| error_log::logged(self.context.request_id(), error))?;
        let read = self.mesh().read(&plan, &self.context).await;
        read.map_err(|error| error_log::logged(self.context.request_id(), error))
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
        let mutation = self.mesh().plan_write(&request);
        let mutation = mutation.map_err(|error| error_log::logged(self.context.request_id(), error))?;
        let mut context = self.context.clone();
        context.commit_gate = self.effects.as_ref().map(|effects| effects.new_gate());
        commit::commit_and_read(self.mesh(), &self.shared.options.changes, mutation, None, context).await
    }

    /// Returns the query of the headers that shapes the reply, if there is one and it is not the signed body.
    pub fn shape(&self) -> Option<(Format, &str)> {
        self.shape.as_ref().map(|shape| (shape.format, shape.text.as_str()))
    }

    /// Returns the reply of a write that created a record: 201 with its location and, if there is one, its body.
    pub fn created(&self, written: WriteReply) -> Reply {
        let location = Some(self.shared.location(&written.entity, &written.id));
        Reply { location, ..written.into() }
    }
}

opaque_debug!(Call);

/// The reply of a handler: 200 with JSON or, by default, 204 without content.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    location: Option<String>,
    body: Option<Bytes>,
}

impl Reply {
    /// Creates a reply of 200 with JSON text.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }
}

/// 200 with the record, or 204 if the write has no shape.
impl From<WriteReply> for Reply {
    fn from(written: WriteReply) -> Self {
        Self { location: None, body: written.body.unwrap_or_default().map(|body| body.bytes) }
    }
}
