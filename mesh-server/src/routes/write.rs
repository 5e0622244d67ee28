//! How is a record written? From the body of a write route, through the core, to the reply. `SPEC §11`

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use mesh_plan::{
    Action, Change, Context, Error, Fields, Mutation, ResolveError, WriteError, WriteReply, WriteRequest,
    WriteTarget,
};
use mesh_ql::Format;
use mesh_wire::{WireError, headers, request, response};

use super::admit::{self, Admitted};
use super::persisted::Query;
use super::{Exchange, read};
use crate::app::Shared;
use crate::body::{Body, Incoming};

/// How much longer than its deadline a write is waited for: a commit that has begun cannot be called back,
/// and its client should be told of it.
const COMMITTING: Duration = Duration::from_secs(5);

/// The write routes that have a body, but for PUT on a record.
pub(crate) async fn with_body(
    cx: &Exchange<'_>,
    target: WriteTarget<'_>,
    sent: Incoming,
) -> Result<Response<Body>, WireError> {
    let (admitted, body) = admit::with_body(cx, sent).await?;
    run(cx, &admitted, target, Some(&body)).await
}

/// The write routes that have none. What is sent all the same is not looked at.
pub(crate) async fn bodiless(
    cx: &Exchange<'_>,
    target: WriteTarget<'_>,
) -> Result<Response<Body>, WireError> {
    let admitted = admit::bodiless(cx).await?;
    run(cx, &admitted, target, None).await
}

/// `PUT {base}/:entity/:id`: without a body it is the point read that it is where there are no write routes.
pub(crate) async fn update(
    cx: &Exchange<'_>,
    entity: &str,
    id: &str,
    sent: Incoming,
) -> Result<Response<Body>, WireError> {
    let (admitted, body) = admit::with_any_body(cx, sent).await?;
    if body.is_empty() {
        return read::admitted_point(cx, &admitted, entity, id).await;
    }
    run(cx, &admitted, WriteTarget::Update { entity, id }, Some(&body)).await
}

async fn run(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    target: WriteTarget<'_>,
    body: Option<&Bytes>,
) -> Result<Response<Body>, WireError> {
    let fields = body.map(|body| fields(cx, body)).transpose()?;
    let shape = shape(cx).await?;
    let principal = admitted.principal();
    let mut request = WriteRequest::new(target).by(principal.as_deref());
    if let Some(fields) = &fields {
        request = request.with_fields(fields);
    }
    if let Some((format, text)) = &shape {
        request = request.shaped(*format, text);
    }
    let mutation = cx.shared.mesh.plan_write(&request);
    let mutation = mutation.inspect_err(|error| read::log_plan(cx.asked.request_id.as_str(), error))?;
    let _waiting = cx.shared.admission.acquire()?;
    let creates = matches!(mutation.action(), Action::Create { .. } | Action::CreateChild { .. });
    let WriteReply { entity, id, body, .. } = carry_out(cx.shared, mutation, cx.context(admitted)).await?;
    let location = creates.then(|| response::location(&cx.shared.base, &entity, &id));
    Ok(response::written(&cx.asked, location, body.map(|body| body.bytes)).map(Body::from))
}

/// Runs a write, tells those who watch of it, and logs what the client is not told.
pub(crate) async fn carry_out(
    shared: &Shared,
    mutation: Mutation,
    context: Context,
) -> Result<WriteReply, WireError> {
    let deadline = context.deadline.map(|deadline| deadline + COMMITTING);
    let writing = shared.mesh.write(mutation, &context);
    let outcome = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), writing)
            .await
            .unwrap_or(Err(WriteError::Failed(ResolveError::TimedOut))),
        None => writing.await,
    };
    match outcome {
        Ok(reply) => {
            reply.changes.iter().cloned().for_each(|change: Change| shared.changes.notify(change));
            tracing::debug!(request = %context.request_id(), entity = reply.entity, id = reply.id, "written");
            Ok(reply)
        }
        Err(error) => {
            if let WriteError::Failed(error) = &error {
                read::log(context.request_id(), error);
            }
            Err(Error::Write(error).into())
        }
    }
}

/// The members of a JSON body.
pub(crate) fn fields(cx: &Exchange<'_>, body: &Bytes) -> Result<Fields, WireError> {
    if !request::is_json(cx.asked.headers) {
        return Err(WireError::unsupported_media_type());
    }
    Fields::parse(body).map_err(|error| WireError::transport(error.to_string()))
}

/// The query that shapes the reply, where there is one.
pub(crate) async fn shape(cx: &Exchange<'_>) -> Result<Option<(Format, String)>, WireError> {
    let asks = |name| cx.asked.headers.contains_key(name);
    if !asks(headers::QUERY) && !asks(headers::QUERY_ID) {
        return Ok(None);
    }
    Ok(Some(match Query::of_head(cx).await? {
        Query::Sent { format, text } => (format, text),
        Query::Kept(query) => (query.format(), query.text().to_owned()),
    }))
}
