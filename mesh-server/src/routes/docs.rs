//! The docs surface: requests for the playground and introspection, and their errors in the terms of the protocol.
//! `SPEC §13`

use std::time::Instant;

use bytes::Bytes;
use http::Response;
use mesh_docs::{Call, Error, ViewAs, Visitor};
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::ResolveError;
use mesh_wire::{WireError, headers};

use crate::identity::caller::Caller;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query;

/// Answers a call. A credential in the request must be valid and identifies the caller; without one, the option `auth` decides.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    call: Call,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let Some(docs) = &cx.shared.docs else { return Err(WireError::not_found()) };
    let caller = if call.is_guarded() { authenticate::docs(cx).await? } else { Caller::PUBLIC };
    let body = if call.takes_body() { authenticate::read_body(cx, body).await? } else { Bytes::new() };
    if call.is_guarded()
        && let Some(view) = ViewAs::from_headers(cx.head.headers)?
    {
        cx.audit(|details| details.set_view(view, &body));
    }
    let context = cx.resolver_context(&caller);
    let mut visitor = Visitor::new(cx.head.headers, &context).with_peer(cx.address);
    if let Some(session) = caller.session() {
        visitor = visitor.with_session(&session.user, session.role.as_deref());
    }
    if let Some(persisted) =
        cx.shared.queries.persisted.as_deref().filter(|persisted| persisted.requires_registered())
    {
        visitor = visitor.restricted_to(persisted);
    }
    let answer = admission::run(cx, docs.answer(call, &visitor, &body, Instant::now)).await?;
    let answer = answer.unwrap_or_else(|| Err(mesh_plan::Error::Resolve(ResolveError::TimedOut).into()));
    let mut reply = answer.map_err(|error| refused(cx, error))?;
    reply.headers_mut().insert(&headers::REQUEST_ID, cx.head.request_id.value());
    Ok(reply.map(Body::from))
}

/// Converts an error of the surface.
fn refused(cx: &RequestContext<'_>, error: Error) -> WireError {
    match error {
        Error::Refused(error) => error,
        Error::NoSession => IntegrityError::TokenMissing.into(),
        Error::Forbidden => IntegrityError::Forbidden.into(),
        Error::NotRegistered => IntegrityError::QueryNotAllowed(QueryRefusal::Unregistered).into(),
        Error::Queries(error) => query::store_failed(cx.request_id(), &error),
        Error::Read(error) => error_log::logged(cx.request_id(), error),
        _ => WireError::not_found(),
    }
}
