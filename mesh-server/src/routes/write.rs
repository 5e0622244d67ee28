//! The write routes. `SPEC §11`

pub(crate) mod commit;

use bytes::Bytes;
use http::Response;
use mesh_plan::{Action, Fields, WriteReply, WriteRequest, WriteTarget};
use mesh_ql::Format;
use mesh_wire::{WireError, request, response};

use self::commit::commit;
use crate::observability::error_log;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::caller::Caller;
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{self, Query, Target};
use crate::pipeline::{execute, respond};

/// Answers the write routes with a body, except PUT on a record.
pub(crate) async fn with_body(
    cx: &RequestContext<'_>,
    target: WriteTarget<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, body).await?;
    write(cx, &caller, target, Some(&body)).await
}

/// Answers the write routes without a body. A body that is sent is ignored.
pub(crate) async fn without_body(
    cx: &RequestContext<'_>,
    target: WriteTarget<'_>,
) -> Result<Response<Body>, WireError> {
    let caller = authenticate::without_body(cx).await?;
    write(cx, &caller, target, None).await
}

/// Answers `PUT {base}/:entity/:id`, which without a body is a point read. `SPEC §2.10`
pub(crate) async fn update(
    cx: &RequestContext<'_>,
    entity: &str,
    id: &str,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_optional_body(cx, body).await?;
    if !body.is_empty() {
        return write(cx, &caller, WriteTarget::Update { entity, id }, Some(&body)).await;
    }
    let query = query::decode(cx).await?;
    let plan = query::plan(cx, &caller, query, Target { entity: Some(entity), id: Some(id) })?;
    let body = execute::read(cx, &caller, &plan).await?;
    Ok(respond::read(cx, body))
}

async fn write(
    cx: &RequestContext<'_>,
    caller: &Caller,
    target: WriteTarget<'_>,
    body: Option<&Bytes>,
) -> Result<Response<Body>, WireError> {
    let fields = body.map(|body| fields(cx, body)).transpose()?;
    let shape = shape(cx).await?;
    let principal = caller.principal();
    let mut request = WriteRequest::new(target).with_principal(principal.as_deref());
    if let Some(fields) = &fields {
        request = request.with_fields(fields);
    }
    if let Some((format, text)) = &shape {
        request = request.with_reply((*format, text.as_str()));
    }
    let mutation = cx.shared.mesh.plan_write(&request);
    let mutation = mutation.inspect_err(|error| error_log::plan_error(cx.request_id(), error))?;
    let _permit = cx.shared.admission.acquire()?;
    let creates = matches!(mutation.action(), Action::Create { .. } | Action::CreateChild { .. });
    let context = cx.resolver_context(caller);
    let WriteReply { entity, id, body, .. } =
        commit(&cx.shared.mesh, &cx.shared.changes, mutation, context).await?;
    let location = creates.then(|| response::location(&cx.shared.base, &entity, &id));
    Ok(response::written(&cx.head, location, body.map(|body| body.bytes)).map(Body::from))
}

/// Parses the members of a JSON body.
fn fields(cx: &RequestContext<'_>, body: &Bytes) -> Result<Fields, WireError> {
    if !request::is_json(cx.head.headers) {
        return Err(WireError::unsupported_media_type());
    }
    Fields::parse(body).map_err(|error| WireError::transport(error.to_string()))
}

/// Returns the query that shapes the reply, if the request has one.
pub(crate) async fn shape(cx: &RequestContext<'_>) -> Result<Option<(Format, String)>, WireError> {
    if cx.mesh_headers.query.is_none() && cx.mesh_headers.query_id.is_none() {
        return Ok(None);
    }
    let query: Query<'_> = query::decode(cx).await?;
    query.into_text(cx).map(Some)
}
