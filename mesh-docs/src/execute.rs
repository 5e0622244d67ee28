//! `POST {docs}/execute`: runs a query in this process and reports its plan, duration and SQL.

mod body;
mod reply;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use mesh_plan::backend::Trace;
use mesh_plan::persisted::{Persisted, QueryId};
use mesh_plan::{JsonBody, Mesh, Plan, Principal, RecordId, Request};
use mesh_wire::WireError;
use mesh_wire::request::PostedId;

use crate::visible::Visible;
use crate::{Error, Sql, Visitor};
use body::Posted;
pub use reply::explanation;

/// Decodes the body and plans the query, and runs it unless only a check is requested. `SPEC §13.2`
pub(crate) async fn execute(
    mesh: &Mesh,
    visible: &Visible,
    sql: Sql,
    visitor: &Visitor<'_>,
    body: &[u8],
    now: fn() -> Instant,
) -> Result<Bytes, Error> {
    let start = now();
    let mut posted = Posted::decode(visitor.headers, body, mesh.limits().query.query_bytes)?;
    let context = visitor.context.clone();
    if let Some(only) = visitor.only {
        check_registered(mesh, only, &mut posted, context.principal.as_deref()).await?;
    }
    let plan = match plan(mesh, visible, &posted, context.principal.as_deref()) {
        // For a check, an invalid query is a result, not an error.
        Err(Error::Read(fault)) if posted.switches.check => {
            return Ok(reply::check_reply(now() - start, None, Some(&fault)));
        }
        planned => planned?,
    };
    if posted.switches.check {
        return Ok(reply::check_reply(now() - start, Some(&plan), None));
    }
    let trace = (sql == Sql::Dev).then(|| {
        let trace = Trace::new();
        Arc::new(if posted.switches.explain { trace.with_query_plans() } else { trace })
    });
    let context = context.with_trace(trace.clone());
    let read: JsonBody = mesh.read(&plan, &context).await.map_err(mesh_plan::Error::Resolve)?;
    let statements = trace.map(|trace| trace.take());
    Ok(reply::read_reply(now() - start, &plan, &read, statements.as_deref()))
}

/// Refuses a query that is not registered, or that the principal could not have registered. Adds the defaults of the
/// query's parameters.
async fn check_registered(
    mesh: &Mesh,
    only: &Persisted,
    posted: &mut Posted,
    principal: Option<&Principal>,
) -> Result<(), Error> {
    let id = QueryId::new(posted.read.format, &posted.read.text);
    let collection = Request::collection(posted.read.format, &posted.read.text).with_principal(principal);
    match only.find(&id.to_string()).await? {
        Some(query) if mesh.check(&collection).is_ok() => {
            let completed = query.params().complete(posted.params.as_ref());
            posted.params = completed.map_err(mesh_plan::Error::Plan)?;
            Ok(())
        }
        _ => Err(Error::NotRegistered),
    }
}

/// Plans a query, which may use visible entities only.
fn plan(
    mesh: &Mesh,
    visible: &Visible,
    posted: &Posted,
    principal: Option<&Principal>,
) -> Result<Plan, Error> {
    let limits = &mesh.limits().query;
    let query =
        mesh_ql::parse(posted.read.format, &posted.read.text, limits).map_err(mesh_plan::Error::Syntax)?;
    let mut request = Request::new(&query).with_principal(principal);
    request.id = posted.read.id.as_ref().map(|id| match id {
        PostedId::Text(text) => RecordId::Text(text),
        PostedId::Parts(parts) => RecordId::Parts(parts),
    });
    request.params = posted.params.as_ref();
    let planned =
        visible.check(&query).and_then(|()| mesh.plan(&request).map_err(|error| visible.redact(error)));
    let planned = planned.map_err(|error| Error::Read(error.with_position_in(&posted.read.text)))?;
    if let (Some(PostedId::Parts(_)), [_]) = (&posted.read.id, planned.node().id.as_slice()) {
        let message = "'id' in the body must be a string or a number: the id is a single field";
        return Err(WireError::transport(message).into());
    }
    Ok(planned)
}
