//! The routes of the protocol, of the application and of the docs surface, each with one handler.
//!
//! A handler authenticates its request first ([`crate::pipeline::authenticate`]).

mod auth;
pub(crate) mod custom;
pub(crate) mod docs;
mod events;
mod files;
mod post;
mod register;
mod upload;
pub(crate) mod write;

use http::Response;
use mesh_plan::WriteTarget;
use mesh_wire::{Route, WireError, headers, response};

use crate::app::gauges;
use crate::observability::metrics::Exposition;
use crate::observability::record::RouteKind;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::route::RouteMatch;

/// Answers `/healthz`, `/readyz` and `/metrics` if they are served beside the base path. They count against no rate
/// limit.
pub(crate) async fn admin_page(cx: &RequestContext<'_>) -> Option<Response<Body>> {
    let admin = cx.shared.admin.as_ref()?;
    let page = cx.shared.admin_page(cx.uri.path())?;
    cx.record.set_route(RouteKind::Admin);
    let gauges = |out: &mut Exposition| gauges::write(cx.shared, out);
    let mut reply = Box::pin(admin.show(page, cx.head.method, gauges)).await;
    reply.headers_mut().insert(headers::REQUEST_ID.clone(), cx.head.request_id.value());
    Some(reply)
}

/// Answers a request whose route is not a read by GET.
pub(crate) async fn dispatch(
    cx: &RequestContext<'_>,
    route: RouteMatch<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    match route {
        RouteMatch::Docs(call) => docs::answer(cx, call, body).await,
        RouteMatch::Custom(route, params) => custom::answer(cx, &route, params, body).await,
        RouteMatch::Protocol(route) => protocol(cx, route, body).await,
    }
}

async fn protocol(
    cx: &RequestContext<'_>,
    route: Route<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    match route {
        Route::Options { allow } => Ok(response::options(&cx.head, allow).map(Body::from)),
        Route::Post => post::read(cx, body).await,
        Route::Register => register::register(cx, body).await,
        Route::Login => auth::login(cx, body).await,
        Route::Logout => auth::logout(cx).await,
        Route::Events { entity, id } => events::stream(cx, &entity, &id).await,
        Route::File { key } => files::file(cx, &key).await,
        Route::Create { entity } if upload::is_upload(cx) => upload::create(cx, &entity, body).await,
        Route::Create { entity } => write::with_body(cx, WriteTarget::Create { entity: &entity }, body).await,
        Route::Update { entity, id } => write::update(cx, &entity, &id, body).await,
        Route::Delete { entity, id } => {
            write::without_body(cx, WriteTarget::Delete { entity: &entity, id: &id }).await
        }
        Route::Attach { entity, id, member } if upload::is_upload(cx) => {
            upload::attach(cx, (&entity, &id, &member), body).await
        }
        Route::Attach { entity, id, member } => {
            let target = WriteTarget::Attach { entity: &entity, id: &id, relation: &member };
            write::with_body(cx, target, body).await
        }
        Route::Connect { entity, id, relation } => {
            let target = WriteTarget::Connect { entity: &entity, id: &id, relation: &relation };
            write::with_body(cx, target, body).await
        }
        Route::Disconnect { entity, id, relation } => {
            let target = WriteTarget::Disconnect { entity: &entity, id: &id, relation: &relation };
            write::without_body(cx, target).await
        }
        Route::Remove { entity, id, relation, child } => {
            let (entity, id, relation, child) = (&*entity, &*id, &*relation, &*child);
            write::without_body(cx, WriteTarget::Remove { entity, id, relation, child }).await
        }
        // Routes of disabled profiles are refused before.
        _ => Err(WireError::not_found()),
    }
}
