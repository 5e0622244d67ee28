//! Who answers which route? One handler for each, and what all of them know of the request.

pub(crate) mod admit;
mod auth;
pub(crate) mod custom;
pub(crate) mod docs;
mod events;
mod files;
pub(crate) mod persisted;
pub(crate) mod plans;
mod read;
mod upload;
pub(crate) mod write;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Response, Uri};
use mesh_plan::{Context, Plan, WriteTarget};
use mesh_wire::headers::MeshHeaders;
use mesh_wire::{RequestHead, Route, WireError, response};

use crate::app::{Shared, Start};
use crate::body::{Body, Incoming};
use crate::observability::record::RequestRecord;
use crate::rates::client_address::ClientAddress;
use admit::Admitted;

/// A request on its way to its reply.
pub(crate) struct Exchange<'r> {
    /// What answers it.
    pub(crate) shared: &'r Arc<Shared>,
    /// Method, headers and id.
    pub(crate) asked: RequestHead<'r>,
    /// The protocol's own headers. Whoever admits it makes sure that each stands once.
    pub(crate) own: MeshHeaders<'r>,
    /// Path and URL query.
    pub(crate) uri: &'r Uri,
    /// The client's address, where it is known: the connection's other end, or what a trusted proxy says.
    pub(crate) peer: Option<ClientAddress>,
    /// What was seen of it so far.
    pub(crate) seen: &'r RequestRecord,
    /// When the answer is no longer wanted.
    pub(crate) deadline: Instant,
}

impl Exchange<'_> {
    /// What resolvers may know of it.
    pub(crate) fn context(&self, admitted: &Admitted) -> Context {
        Context::new(self.asked.request_id.as_str())
            .with_deadline(self.deadline)
            .with_trace_parent(self.seen.place.map(|place| place.to_string().into()))
            .with_principal(admitted.principal())
    }

    /// The client's address, where it is known.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer.map(|peer| peer.0)
    }
}

/// Hands a request to the handler of its route. Each handler asks [`admit`] first.
pub(crate) async fn dispatch(
    cx: &Exchange<'_>,
    route: Route<'_>,
    body: impl FnOnce() -> Incoming,
) -> Result<Response<Body>, WireError> {
    match route {
        Route::Collection { entity } => read::collection(cx, &entity).await,
        Route::Point { entity, id } => read::point(cx, &entity, &id).await,
        Route::Post => read::posted(cx, body()).await,
        // A connection keeps room for the largest future of its requests as long as it lives, and streams of
        // events live long: what is larger than a read is on the heap until its reply begins.
        other => Box::pin(dispatch_other(cx, other, body)).await,
    }
}

/// Whether it is worth trying. What a bound signature leaves behind may happen once only, and a store may have to
/// be asked for the query.
pub(crate) fn may_start(cx: &Exchange<'_>, route: &Route<'_>) -> bool {
    matches!(route, Route::Collection { .. } | Route::Point { .. })
        && cx.own.nonce.is_none()
        && persisted::is_at_hand(cx)
}

/// How far a request comes without waiting for anything: reads by GET and HEAD often to the end.
pub(crate) fn start(cx: &Exchange<'_>, route: &Route<'_>) -> Start {
    match route {
        Route::Collection { entity } => read::start(cx, entity, None),
        Route::Point { entity, id } => read::start(cx, entity, Some(id)),
        _ => Start::Counted,
    }
}

/// Answers a read that began like that, and was planned.
pub(crate) async fn resolve(
    cx: &Exchange<'_>,
    admitted: &Admitted,
    plan: Plan,
) -> Result<Response<Body>, WireError> {
    read::resolve(cx, admitted, plan).await
}

async fn dispatch_other(
    cx: &Exchange<'_>,
    route: Route<'_>,
    body: impl FnOnce() -> Incoming,
) -> Result<Response<Body>, WireError> {
    match route {
        Route::Options { allow } => Ok(response::options(&cx.asked, allow).map(Body::from)),
        Route::Register => persisted::register(cx, body()).await,
        Route::Login => auth::login(cx, body()).await,
        Route::Logout => auth::logout(cx).await,
        Route::Events { entity, id } => events::stream(cx, &entity, &id).await,
        Route::File { key } => files::file(cx, &key).await,
        Route::Create { entity } if upload::is_one(cx) => upload::create(cx, &entity, body()).await,
        Route::Create { entity } => {
            write::with_body(cx, WriteTarget::Create { entity: &entity }, body()).await
        }
        Route::Update { entity, id } => write::update(cx, &entity, &id, body()).await,
        Route::Delete { entity, id } => {
            write::bodiless(cx, WriteTarget::Delete { entity: &entity, id: &id }).await
        }
        Route::Attach { entity, id, member } if upload::is_one(cx) => {
            upload::attach(cx, (&entity, &id, &member), body()).await
        }
        Route::Attach { entity, id, member } => {
            let target = WriteTarget::Attach { entity: &entity, id: &id, relation: &member };
            write::with_body(cx, target, body()).await
        }
        Route::Connect { entity, id, relation } => {
            let target = WriteTarget::Connect { entity: &entity, id: &id, relation: &relation };
            write::with_body(cx, target, body()).await
        }
        Route::Disconnect { entity, id, relation } => {
            let target = WriteTarget::Disconnect { entity: &entity, id: &id, relation: &relation };
            write::bodiless(cx, target).await
        }
        Route::Remove { entity, id, relation, child } => {
            let (entity, id, relation, child) = (&*entity, &*id, &*relation, &*child);
            write::bodiless(cx, WriteTarget::Remove { entity, id, relation, child }).await
        }
        // Routes of profiles that are off are refused before they come here.
        _ => Err(WireError::not_found()),
    }
}
