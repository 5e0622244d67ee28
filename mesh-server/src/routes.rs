//! The routes of the protocol, of the application and of the docs surface, each with one handler.
//!
//! A handler authenticates its request first ([`crate::pipeline::authenticate`]).

pub(crate) mod admin;
mod auth;
mod batch;
pub(crate) mod custom;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod export;
mod files;
mod get;
#[cfg(feature = "mcp")]
mod mcp;
mod posted;
mod upload;
pub(crate) mod write;

use http::Request;
use http::Response;
use http::request::Parts;
use mesh_plan::RecordId::Segment;
use mesh_wire::{Route, WireError, response};

use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::route::RouteMatch;

/// Answers a request. The future of each handler, except that of reads by GET, is boxed separately. Without boxes, every
/// connection would reserve space for the largest future; a shared box would have the size of the largest future.
pub(crate) async fn dispatch(
    cx: &RequestContext<'_>,
    head: &Parts,
    route: RouteMatch<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    match route {
        RouteMatch::Docs(call) => Box::pin(docs::answer(cx, call, body)).await,
        #[cfg(feature = "mcp")]
        RouteMatch::Mcp(tools) => Box::pin(mcp::answer(cx, tools, body)).await,
        RouteMatch::Custom(handler) => Box::pin(custom::answer(cx, handler, body)).await,
        RouteMatch::Fallback(service) => {
            let mut request = Request::from_parts(head.clone(), body.into_body());
            // For limits by address, and for the logs, of an `App` behind the fallback.
            if let Some(address) = cx.peer_address() {
                request.extensions_mut().insert(address);
            }
            Ok(service.call(request).await)
        }
        RouteMatch::Protocol(Route::Collection { entity }) => get::collection(cx, &entity).await,
        RouteMatch::Protocol(Route::Point { entity, id }) => get::point(cx, &entity, Segment(id)).await,
        RouteMatch::Protocol(route) => protocol(cx, route, body).await,
    }
}

async fn protocol(
    cx: &RequestContext<'_>,
    route: Route<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    match &route {
        Route::Options { allow } => return Ok(response::options(&cx.head, *allow).map(Body::from)),
        Route::Post => return Box::pin(posted::read(cx, body)).await,
        Route::Register => return Box::pin(posted::register(cx, body)).await,
        Route::Batch => return Box::pin(batch::answer(cx, body)).await,
        Route::Login => return Box::pin(auth::login(cx, body)).await,
        Route::Logout => return Box::pin(auth::logout(cx)).await,
        Route::Events { entity, id } => return Box::pin(events::open_record(cx, entity, Segment(id))).await,
        Route::File { key } => return Box::pin(files::file(cx, key)).await,
        Route::Create { entity } if upload::is_upload(cx) => {
            let path = upload::Path { entity, id: None, field: None };
            return Box::pin(upload::upload(cx, path, body)).await;
        }
        Route::Attach { entity, id, member } if upload::is_upload(cx) => {
            let path = upload::Path { entity, id: Some(Segment(id)), field: Some(member) };
            return Box::pin(upload::upload(cx, path, body)).await;
        }
        _ => {}
    }
    // Routing refuses the routes of disabled profiles.
    let target = route.write_target().ok_or_else(WireError::not_found)?;
    Box::pin(write::answer(cx, target, body)).await
}
