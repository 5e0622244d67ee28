//! `POST {base}`: a read whose query is in the body. `SPEC §2.7`

use http::Response;
use mesh_wire::WireError;

use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{self, Target};
use crate::pipeline::{authenticate, execute, respond};

/// Answers the read.
pub(crate) async fn read(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_query(cx, body).await?;
    let (query, id) = query::decode_posted(cx, &body)?;
    let plan = query::plan(cx, &caller, query, Target { entity: None, id: id.as_deref() })?;
    let body = execute::read(cx, &caller, &plan).await?;
    Ok(respond::read(cx, body))
}
