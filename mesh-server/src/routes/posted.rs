//! Queries in the body of a POST: reads and registrations. `SPEC §2.7`, `SPEC §8`

use http::Response;
use mesh_integrity::{IntegrityError, QueryRefusal};
use mesh_plan::persisted::{ParamDeclarations, PersistedQuery, RegisterError, Registration};
use mesh_wire::request::{PostBody, decode_body};
use mesh_wire::{WireError, response};

use crate::identity::signed::Content;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{self, Target};
use crate::pipeline::read;

/// Answers `POST {base}`.
pub(crate) async fn read(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Query, body).await?;
    let query = cx.shared.queries.in_body(&cx.parts(), &body)?;
    read::answer(cx, &caller, query, Target::default()).await
}

/// Answers `POST {base}/queries`.
pub(crate) async fn register(
    cx: &RequestContext<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    let Some(persisted) = &cx.shared.queries.persisted else { return Err(WireError::not_found()) };
    let (caller, body) = match persisted.registration() {
        Registration::Open => {
            let caller = authenticate::anonymous(cx)?;
            (caller, authenticate::read_body(cx, body).await?)
        }
        // Registration requires a session, or a bearer if no session is needed. Without either it is refused.
        Registration::Signed if cx.shared.options.authenticator.identifies_callers() => {
            authenticate::with_body(cx, Content::Registration, body).await?
        }
        Registration::Signed | Registration::Closed => {
            return Err(IntegrityError::QueryNotAllowed(QueryRefusal::Closed).into());
        }
    };
    let PostBody { format, text, params, .. } = decode_body(cx.head.headers, &body)?;
    let bound = cx.shared.mesh.limits().query.query_bytes;
    if params.as_ref().is_some_and(|params| params.len() > bound) {
        return Err(WireError::validation(format!(
            "'params' in the body has more bytes than the bound `query_bytes` ({bound}) allows"
        )));
    }
    let declared = params.as_deref().map(ParamDeclarations::parse).transpose().map_err(|why| {
        WireError::transport(format!(
            "'params' in the body is not an object {{name: {{type, default?}}}}: {why}"
        ))
    })?;
    let declared = declared.unwrap_or_default();
    let principal = caller.principal();
    let query = PersistedQuery::new(format, text).with_params(declared);
    admission::begin_write(cx)?;
    match persisted.register(&cx.shared.mesh, query, principal.as_deref()).await {
        Ok(id) => {
            cx.audit(|details| details.query = Some(id.to_string()));
            let body = format!("{{\"id\":\"{id}\"}}");
            Ok(response::written(&cx.head, None, Some(body.into())).map(Body::from))
        }
        Err(RegisterError::Query(error)) => Err(error.into()),
        Err(error @ RegisterError::OtherParams) => Err(WireError::validation(error.to_string())),
        Err(RegisterError::Store(error)) => Err(query::store_failed(cx.request_id(), &error)),
    }
}
