//! Queries in the body of a POST: reads and registrations. `SPEC §2.7`, `SPEC §8`

use http::Response;
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::{RecordId, RegisterError, Registration, Request};
use mesh_wire::request::{PostBody, PostedId, decode_body};
use mesh_wire::{WireError, response};

use crate::pipeline::authenticate::{self, Content};
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{self, Target};
use crate::pipeline::read;

/// Answers `POST {base}`.
pub(crate) async fn read(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Query, body).await?;
    let (query, id) = query::decode_posted(cx, &body)?;
    let id = id.as_ref().map(|id| match id {
        PostedId::Text(text) => RecordId::Text(text),
        PostedId::Parts(parts) => RecordId::Parts(parts),
    });
    read::answer(cx, &caller, query, Target { entity: None, id }).await
}

/// Answers `POST {base}/queries`.
pub(crate) async fn register(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let Some(persisted) = &cx.shared.persisted else { return Err(WireError::not_found()) };
    let (caller, body) = match persisted.registration() {
        Registration::Open => {
            let caller = authenticate::anonymous(cx)?;
            (caller, authenticate::read_body(cx, body).await?)
        }
        // Registration requires a session; without integrity it is refused.
        Registration::Signed if cx.shared.integrity.is_some() => {
            authenticate::with_body(cx, Content::Query, body).await?
        }
        Registration::Signed | Registration::Closed => {
            return Err(IntegrityError::QueryNotAllowed(QueryRefusal::Closed).into());
        }
    };
    let PostBody { format, text, .. } = decode_body(cx.head.headers, &body)?;
    let principal = caller.principal();
    let request = Request::collection(format, &text).with_principal(principal.as_deref());
    match persisted.register(&cx.shared.mesh, &request).await {
        Ok(id) => {
            let body = format!("{{\"id\":\"{id}\"}}");
            Ok(response::written(&cx.head, None, Some(body.into())).map(Body::from))
        }
        Err(RegisterError::Query(error)) => Err(error.into()),
        Err(RegisterError::Store(error)) => Err(query::store_failed(cx, &error)),
    }
}
