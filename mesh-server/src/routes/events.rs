//! Event streams: of a record by `GET {base}/:entity/:id/events`, and of a collection by `Accept`. `SPEC §10`

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt as _;
use http::header::{CONNECTION, HeaderValue};
use http::{Method, Response};
use http_body_util::StreamBody;
use mesh_integrity::IntegrityError;
use mesh_plan::RecordId;
use mesh_wire::{WireError, sse};

use crate::events::{Hub, SessionCheck, Subscriber};
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::Body;
use crate::pipeline::context::{Caller, RequestContext};
use crate::pipeline::query::{self, Query, Target};
use crate::pipeline::respond;

/// Starts a stream of a record. It is planned like a point read.
pub(crate) async fn open_record(
    cx: &RequestContext<'_>,
    entity: &str,
    id: RecordId<'_>,
) -> Result<Response<Body>, WireError> {
    let Some(hub) = &cx.shared.hub else { return Err(WireError::not_found()) };
    let caller = authenticate::without_body(cx).await?;
    let query = query::decode(cx).await?;
    let params = query::params(cx)?;
    let target = Target { entity: Some(entity), id: Some(id), params: params.as_ref() };
    open(cx, hub, &caller, query, target).await
}

/// Starts a stream of the results that a read of this query would return.
pub(crate) async fn open(
    cx: &RequestContext<'_>,
    hub: &Hub,
    caller: &Caller,
    query: Query<'_>,
    target: Target<'_>,
) -> Result<Response<Body>, WireError> {
    let plan = query::plan_by_meaning(cx, caller, query, target)?;
    let session = caller.session().map(|session| session.session);
    let open = match cx.shared.clients.open_stream(cx.address, session) {
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

/// Returns a check of the session or the bearer, which runs while the stream is open. An unavailable store does not end
/// the stream.
fn session_check(cx: &RequestContext<'_>, caller: &Caller) -> Option<SessionCheck> {
    if let Some(known) = caller.known() {
        let (shared, known) = (Arc::clone(cx.shared), Arc::clone(known));
        return Some(Arc::new(move || {
            let (shared, known) = (Arc::clone(&shared), Arc::clone(&known));
            async move { shared.identities.recheck(&known).await }.boxed()
        }));
    }
    let gate = Arc::clone(&cx.shared.integrity.as_ref()?.gate);
    let session = Arc::clone(caller.session()?);
    Some(Arc::new(move || {
        let (gate, session) = (Arc::clone(&gate), Arc::clone(&session));
        async move {
            match gate.check(&session, SystemTime::now()).await {
                Err(error @ (IntegrityError::TokenExpired | IntegrityError::TokenRevoked)) => {
                    Err(error.into())
                }
                Ok(()) | Err(_) => Ok(()),
            }
        }
        .boxed()
    }))
}
