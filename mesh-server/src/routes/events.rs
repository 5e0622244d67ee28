//! Event streams: of a record by `GET {base}/:entity/:id/events`, and of a collection by `Accept`. `SPEC §10`

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::header::{CONNECTION, HeaderValue};
use http::{Method, Response};
use http_body_util::StreamBody;
use mesh_plan::RecordId;
use mesh_wire::{WireError, sse};

use crate::events::{Hub, SessionCheck, Subscriber};
use crate::identity::caller::Caller;
use crate::identity::signed::Signed;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{Purpose, RequestQuery, Target};
use crate::pipeline::{read, respond};

/// Starts a stream of a record. It is planned like a point read.
pub(crate) async fn open_record(
    cx: &RequestContext<'_>,
    entity: &str,
    id: RecordId<'_>,
) -> Result<Response<Body>, WireError> {
    let Some(hub) = &cx.shared.hub else { return Err(WireError::not_found()) };
    let caller = authenticate::without_body(cx, Signed::Read).await?;
    let query = read::query(cx).await?;
    open(cx, hub, &caller, query, Target::at(entity, Some(id))).await
}

/// Starts a stream of the results that a read of this query would return.
pub(crate) async fn open(
    cx: &RequestContext<'_>,
    hub: &Hub,
    caller: &Caller,
    query: RequestQuery<'_>,
    target: Target<'_>,
) -> Result<Response<Body>, WireError> {
    let plan = cx.shared.queries.plan_for(Purpose::Stream, &cx.parts(), caller, query, target)?;
    let session = caller.session().map(|session| session.session);
    let open = match cx.shared.options.client_limits.open_stream(cx.address, session) {
        Ok(open) => open,
        Err(error) => return Ok(refuse_and_close(cx, &error)),
    };
    let subscriber = Subscriber { principal: caller.principal(), session_check: session_check(cx, caller) };
    let _permit = admission::admit(cx)?;
    let subscription = hub.subscribe(plan, subscriber, cx.head.request_id, cx.deadline).await?;
    let head = sse::head(&cx.head);
    if *cx.head.method == Method::HEAD {
        return Ok(head.map(|()| Body::from(bytes::Bytes::new())));
    }
    let frames = subscription.into_frames(sse::last_event_id(cx.head.headers));
    Ok(head.map(|()| Body::stream(StreamBody::new(frames)).until_sent(open)))
}

/// Refuses a stream and, in HTTP/1.1, closes the connection, because a client of streams has no other use for it.
fn refuse_and_close(cx: &RequestContext<'_>, error: &WireError) -> Response<Body> {
    let mut reply = respond::refusal(cx, error);
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// Returns a check of the credential, which runs while the stream is open.
fn session_check(cx: &RequestContext<'_>, caller: &Caller) -> Option<SessionCheck> {
    caller.session()?;
    let (shared, caller) = (Arc::clone(cx.shared), caller.clone());
    Some(Arc::new(move || {
        let (shared, caller) = (Arc::clone(&shared), caller.clone());
        async move { shared.options.authenticator.recheck(&caller).await }.boxed()
    }))
}
