//! How does a stream of changes begin? Like a point read, whose answer goes on. `SPEC §10`

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::{Method, Response};
use http_body_util::StreamBody;
use mesh_integrity::IntegrityError;
use mesh_wire::{WireError, sse};

use super::Exchange;
use super::admit::{self, Admitted};
use super::persisted::Query;
use crate::body::Body;
use crate::events::{SessionCheck, Subscriber};

/// `GET {base}/:entity/:id/events`
pub(crate) async fn stream(cx: &Exchange<'_>, entity: &str, id: &str) -> Result<Response<Body>, WireError> {
    let Some(hub) = cx.shared.hub() else { return Err(WireError::not_found()) };
    let admitted = admit::bodiless(cx).await?;
    let query = Query::of_head(cx).await?;
    let plan = query.plan(cx, &admitted, Some(id), Some(entity))?;
    let subscriber =
        Subscriber { principal: admitted.principal(), session_check: session_check(cx, &admitted) };
    let _waiting = cx.shared.admission.acquire()?;
    let subscription = hub.subscribe(plan, subscriber, cx.asked.request_id, cx.deadline).await?;
    let head = sse::head(&cx.asked);
    if *cx.asked.method == Method::HEAD {
        return Ok(head.map(|()| Body::from(bytes::Bytes::new())));
    }
    let frames = subscription.into_frames(sse::last_event_id(cx.asked.headers));
    Ok(head.map(|()| Body::stream(StreamBody::new(frames))))
}

/// How to find out whether the stream's session has ended. A store that does not answer has not said so.
fn session_check(cx: &Exchange<'_>, admitted: &Admitted) -> Option<SessionCheck> {
    let gate = Arc::clone(&cx.shared.integrity.as_ref()?.gate);
    let session = Arc::clone(admitted.session()?);
    Some(Arc::new(move || {
        let (gate, session) = (Arc::clone(&gate), Arc::clone(&session));
        async move {
            match gate.check(&session, admit::now()).await {
                Err(error @ (IntegrityError::TokenExpired | IntegrityError::TokenRevoked)) => {
                    Err(error.into())
                }
                Ok(()) | Err(_) => Ok(()),
            }
        }
        .boxed()
    }))
}
