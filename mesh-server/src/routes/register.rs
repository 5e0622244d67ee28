//! `POST {base}/queries`: registers a query. `SPEC §8`

use http::Response;
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::{RegisterError, Registration, Request};
use mesh_wire::request::{PostBody, decode_body};
use mesh_wire::{WireError, response};

use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::store_failed;

/// Registers the query of the body.
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
        Registration::Signed if cx.shared.integrity.is_some() => authenticate::with_query(cx, body).await?,
        Registration::Signed | Registration::Closed => {
            return Err(IntegrityError::QueryNotAllowed(QueryRefusal::Closed).into());
        }
    };
    let PostBody { format, text, .. } = decode_body(cx.head.headers, &body)?;
    let principal = caller.principal();
    let request = Request::collection(format, &text).by(principal.as_deref());
    match persisted.register(&cx.shared.mesh, &request).await {
        Ok(id) => {
            let body = format!("{{\"id\":\"{id}\"}}");
            Ok(response::written(&cx.head, None, Some(body.into())).map(Body::from))
        }
        Err(RegisterError::Query(error)) => Err(error.into()),
        Err(RegisterError::Store(error)) => Err(store_failed(cx, &error)),
    }
}
