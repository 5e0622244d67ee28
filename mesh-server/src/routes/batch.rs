//! Batches: several reads and writes in one transaction. `SPEC §18.4`

mod path;
mod plan;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use http::{Method, Response};
use mesh_plan::backend::{ScriptError, ScriptStep, StepResult};
use mesh_plan::mutation::Action;
use mesh_plan::{Error, Fields, Principal, ResolveError, WriteRequest};
use mesh_ql::ParamValues;
use mesh_wire::request::{BatchStep, IfMatch, StepQuery, decode_batch, parse_params};
use mesh_wire::{AllowedMethods, Route, WireError, response};

use self::plan::{Batch, Step};
use super::write::commit::commit_all;
use crate::identity::caller::Caller;
use crate::identity::signed::{Content, Signed};
use crate::observability::audit::details::READ;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::RequestQuery;

/// Answers `POST {base}/batch`. One that only reads needs what `POST {base}` needs.
pub(super) async fn answer(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let identified = authenticate::identify(cx).await?;
    let body = authenticate::read_body(cx, body).await?;
    let steps = decode_batch(cx.head.headers, &body);
    let only_reads = steps.as_ref().is_ok_and(|steps| steps.iter().all(BatchStep::is_read));
    let content = if only_reads {
        cx.audit(|details| details.event = Some(READ));
        Content::Query
    } else {
        Content::Fields
    };
    let caller = authenticate::verify(cx, identified, Signed::Body(content, &body)).await?;
    IfMatch::refuse(cx.head.headers)?;
    if cx.mesh_headers.query.is_some() || cx.mesh_headers.query_id.is_some() {
        return Err(WireError::transport(
            "A batch has no query; give each step a 'query' that shapes its result",
        ));
    }
    let results = run(cx, &caller, steps?, None).await?;
    Ok(response::written(&cx.head, None, Some(results)).map(Body::from))
}

/// Runs the steps of a batch, and returns the body of the reply. `bounds` are the maximum objects and bytes of all
/// results together, if lower than the limits of the server.
pub(super) async fn run(
    cx: &RequestContext<'_>,
    caller: &Caller,
    steps: Vec<BatchStep>,
    bounds: Option<(usize, usize)>,
) -> Result<Bytes, WireError> {
    let principal = caller.principal();
    let mut checked = Vec::with_capacity(steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        let step = check(cx, step, principal.as_deref()).await.map_err(|error| error.at_step(index))?;
        checked.push(step);
    }
    let limits = &cx.shared.options.limits;
    let batch = Arc::new(Batch {
        mesh: Arc::clone(&cx.shared.mesh),
        steps: checked,
        principal,
        values_max: limits.body_bytes,
        values: AtomicUsize::default(),
        bounds,
    });
    batch.check_references()?;
    let entities: Vec<&str> = batch.steps.iter().map(|step| step.entity.as_str()).collect();
    let results = match batch.steps.iter().any(|step| step.is_write) {
        true => write(cx, caller, &entities, &batch).await?,
        false => read(cx, caller, &entities, &batch).await?,
    };
    Ok(body_of(&results))
}

async fn write(
    cx: &RequestContext<'_>,
    caller: &Caller,
    entities: &[&str],
    batch: &Arc<Batch>,
) -> Result<Vec<StepResult>, WireError> {
    admission::begin_write(cx)?;
    let context = cx.write_context(caller);
    let running = cx.shared.mesh.transact(entities, batch.clone(), &context);
    let failed = |ScriptError { step, error, .. }| {
        explain(cx, caller, batch, step, error_log::logged(cx.request_id(), *error))
    };
    let results = commit_all(&cx.shared.options.changes, &context, running, failed).await?.results;
    cx.audit(|details| {
        for ((_, step), result) in details.steps.iter_mut().zip(&results) {
            step.id = written_id(result).or_else(|| step.id.take());
        }
    });
    Ok(results)
}

/// Runs a batch of reads, which see one snapshot.
async fn read(
    cx: &RequestContext<'_>,
    caller: &Caller,
    entities: &[&str],
    batch: &Arc<Batch>,
) -> Result<Vec<StepResult>, WireError> {
    let context = cx.resolver_context(caller);
    let reading = cx.shared.mesh.read_script(entities, batch.clone(), &context);
    let read = admission::run(cx, reading).await?.unwrap_or_else(|| Err(ResolveError::TimedOut.into()));
    read.map_err(|ScriptError { step, error, .. }| {
        explain(cx, caller, batch, step, error_log::logged(cx.request_id(), *error))
    })
}

/// Completes the error of a step. A registered query that the caller could not have registered does not exist.
fn explain(
    cx: &RequestContext<'_>,
    caller: &Caller,
    batch: &Batch,
    step: usize,
    error: WireError,
) -> WireError {
    let query = batch.steps.get(step).and_then(|step| step.registered.clone());
    let query = query.map(|query| RequestQuery::registered(query, None, ParamValues::new()));
    let hidden = query.and_then(|query| cx.shared.queries.check_registrable(caller, &query).err());
    hidden.unwrap_or(error).at_step(step)
}

/// Checks the route and the members of a step, and whether the caller may perform such a write.
async fn check(
    cx: &RequestContext<'_>,
    step: BatchStep,
    principal: Option<&Principal>,
) -> Result<Step, WireError> {
    let route = path::route(&step.method, &step.path).map_err(|error| explain_base(error, cx, &step.path))?;
    let (entity, takes_body, takes_query) = match &route {
        Route::Collection { entity } | Route::Point { entity, .. } if step.is_read() => (entity, false, true),
        Route::Update { entity, .. } if step.body.is_none() => (entity, false, true),
        Route::Create { entity }
        | Route::Update { entity, .. }
        | Route::Attach { entity, .. }
        | Route::Connect { entity, .. } => (entity, true, true),
        Route::Delete { entity, .. } | Route::Disconnect { entity, .. } | Route::Remove { entity, .. } => {
            (entity, false, false)
        }
        _ => {
            let message =
                "A step is a read of a record or a collection, or a write of a record or a relation";
            return Err(WireError::validation(message));
        }
    };
    let is_read = takes_query && !takes_body;
    let refused = match (&step.body, &step.query) {
        (None, _) if takes_body => Some("A write with this method requires a 'body'"),
        (Some(_), _) if !takes_body => Some("A step with this method takes no 'body'"),
        (_, None) if is_read && step.method == Method::PUT => {
            Some("A write with this method requires a 'body', and a read requires a 'query'")
        }
        (_, None) if is_read => Some("A read requires a 'query' or a 'queryId'"),
        (_, Some(_)) if !takes_query => Some("A step with this method has no result, and takes no 'query'"),
        (_, Some(StepQuery::Id(_))) if !is_read => Some("A write takes a 'query', not a 'queryId'"),
        _ if step.params.is_some() && !is_read => Some("A write takes no 'params'"),
        _ => None,
    };
    if let Some(message) = refused {
        return Err(WireError::transport(message));
    }
    if let Some(params) = &step.params {
        parse_params(params, "'params' of the step", cx.shared.mesh.limits().query.query_bytes)?;
    }
    let fields = step.body.as_ref().map(|body| Fields::parse(body.as_bytes())).transpose();
    let fields = fields.map_err(|error| WireError::transport(error.to_string()))?;
    if takes_query && !matches!(step.query, Some(StepQuery::Id(_))) {
        cx.shared.queries.allow_unregistered()?;
    }
    let target = route.write_target().filter(|_| !is_read);
    if let Some(target) = target {
        if !cx.shared.profiles.mutations {
            return Err(WireError::method_not_allowed(&step.method, AllowedMethods::empty()));
        }
        let request = WriteRequest::new(target).with_principal(principal);
        cx.shared.mesh.check_write(&request).map_err(Error::from)?;
    }
    cx.audit(|details| details.add_step(&step.method, entity, target.as_ref(), fields.as_ref()));
    let (entity, is_list) = (entity.clone().into_owned(), matches!(route, Route::Collection { .. }));
    let (is_write, mut registered) = (target.is_some(), None);
    if let Some(StepQuery::Id(id)) = &step.query {
        registered = Some(cx.shared.queries.registered(cx.request_id(), id).await?);
    }
    Ok(Step { entity, is_write, is_list, registered, step })
}

/// Adds a hint to the error of a path that includes the base path.
fn explain_base(mut error: WireError, cx: &RequestContext<'_>, path: &str) -> WireError {
    let base = cx.shared.options.base_path.as_str();
    if let Some(rest) = path.strip_prefix(base).filter(|rest| !base.is_empty() && rest.starts_with('/')) {
        error.message = format!("{}; omit the base path from 'path': '{rest}'", error.message).into();
    }
    error
}

/// Returns the body of the reply.
fn body_of(results: &[StepResult]) -> Bytes {
    let mut all = br#"{"results":["#.to_vec();
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            all.push(b',');
        }
        let body = result.bodies().next();
        all.extend_from_slice(format!(r#"{{"status":{}"#, status(result)).as_bytes());
        if let Some(body) = body {
            all.extend_from_slice(br#","body":"#);
            all.extend_from_slice(&body.bytes);
        }
        all.push(b'}');
    }
    all.extend_from_slice(b"]}");
    all.into()
}

/// Returns the id of the record that a step has written, as in a path.
fn written_id(result: &StepResult) -> Option<String> {
    let ScriptStep::Write(mutations) = &result.step else { return None };
    let (mutation, id) = (mutations.first()?, result.ids.first()?);
    match result.bodies().next() {
        Some(_) => Some(mutation.written().id_text(id)),
        None => Some(mutation.subject().id_text(mutation.action().id()?)),
    }
}

/// Returns the status that the step would have as a request.
fn status(result: &StepResult) -> u16 {
    let action = match &result.step {
        ScriptStep::Write(mutations) => mutations.first().map(|mutation| mutation.action()),
        _ => None,
    };
    match action {
        Some(Action::Create { .. } | Action::CreateChild { .. }) => 201,
        Some(_) if result.bodies().next().is_none() => 204,
        _ => 200,
    }
}
