//! `POST {docs}/execute`: runs a query in this process and reports its plan, duration and SQL.

mod body;
mod reply;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use mesh_plan::{Context, JsonBody, Mesh, Plan, Principal, Request, Trace};

use crate::visible::Visible;
use crate::{Error, Sql};
use body::Posted;

/// Decodes the body and plans the query, and runs it unless only a check is requested. `SPEC §13.2`
pub(crate) async fn execute(
    mesh: &Mesh,
    visible: &Visible,
    sql: Sql,
    (headers, body): (&HeaderMap, &[u8]),
    context: Context,
    now: fn() -> Instant,
) -> Result<Bytes, Error> {
    let start = now();
    let posted = Posted::decode(headers, body)?;
    let plan = match plan(mesh, visible, &posted, context.principal.as_deref()) {
        // For a check, an invalid query is a result, not an error.
        Err(Error::Read(fault)) if posted.check => {
            return Ok(reply::checked(now() - start, None, Some(&fault)));
        }
        planned => planned?,
    };
    if posted.check {
        return Ok(reply::checked(now() - start, Some(&plan), None));
    }
    let trace = (sql == Sql::Dev).then(|| {
        let trace = Trace::new();
        Arc::new(if posted.explain { trace.with_query_plans() } else { trace })
    });
    let context = context.with_trace(trace.clone());
    let read: JsonBody = mesh.read(&plan, &context).await.map_err(mesh_plan::Error::Resolve)?;
    let statements = trace.map(|trace| trace.take());
    Ok(reply::ran(now() - start, &plan, &read, statements.as_deref()))
}

/// Plans a query, which may use visible entities only.
fn plan(
    mesh: &Mesh,
    visible: &Visible,
    posted: &Posted,
    principal: Option<&Principal>,
) -> Result<Plan, Error> {
    let limits = &mesh.limits().query;
    let query = mesh_ql::parse(posted.format, &posted.text, limits).map_err(mesh_plan::Error::Syntax)?;
    let mut request = Request::new(&query).with_principal(principal);
    request.id = posted.id.as_deref();
    let planned =
        visible.check(&query).and_then(|()| mesh.plan(&request).map_err(|error| visible.redact(error)));
    planned.map_err(|error| Error::Read(error.with_position_in(&posted.text)))
}
