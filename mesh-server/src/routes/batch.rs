//! Batches: several writes and point reads in one transaction. `SPEC §18.4`

mod path;
mod plan;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response};
use mesh_plan::backend::{ScriptError, ScriptStep, StepResult};
use mesh_plan::mutation::Action;
use mesh_plan::{Error, Fields, Principal, WriteRequest};
use mesh_wire::request::{BatchStep, IfMatch, decode_batch};
use mesh_wire::{BasePath, Profiles, Route, WireError, response};

use self::plan::Batch;
use super::write::commit::commit_all;
use crate::identity::caller::Caller;
use crate::identity::signed::Content;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;

/// Answers `POST {base}/batch`.
pub(super) async fn answer(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Fields, body).await?;
    IfMatch::refuse(cx.head.headers)?;
    if cx.mesh_headers.query.is_some() || cx.mesh_headers.query_id.is_some() {
        return Err(WireError::transport(
            "A batch has no query; give each step a 'query' that shapes its result",
        ));
    }
    let results = run(cx, &caller, &body, None).await?;
    Ok(response::written(&cx.head, None, Some(results)).map(Body::from))
}

/// Runs the steps of a body, and returns the body of the reply. `bounds` are the maximum objects and bytes of all
/// results together, if lower than the limits of the server.
pub(super) async fn run(
    cx: &RequestContext<'_>,
    caller: &Caller,
    body: &[u8],
    bounds: Option<(usize, usize)>,
) -> Result<Bytes, WireError> {
    let steps = decode_batch(cx.head.headers, body)?;
    let principal = caller.principal();
    let mut entities = Vec::with_capacity(steps.len());
    let mut has_write = false;
    for (index, step) in steps.iter().enumerate() {
        let checked = check(cx, step, principal.as_deref()).map_err(|error| error.at_step(index))?;
        has_write |= checked.is_write;
        entities.push(checked.entity);
    }
    if !has_write {
        // Reads alone need no transaction, and a transaction can block other writes.
        return Err(WireError::validation("At least one step of a batch must be a write"));
    }
    let (mesh, values_max) = (Arc::clone(&cx.shared.mesh), cx.shared.options.limits.body_bytes);
    let batch = Batch::new(mesh, steps, principal, values_max, bounds)?;
    let entities: Vec<&str> = entities.iter().map(String::as_str).collect();
    admission::begin_write(cx)?;
    let context = cx.write_context(caller);
    let running = cx.shared.mesh.transact(&entities, Arc::new(batch), &context);
    let failed =
        |ScriptError { step, error, .. }| error_log::logged(context.request_id(), *error).at_step(step);
    let results = commit_all(&cx.shared.options.changes, &context, running, failed).await?.results;
    cx.audit(|details| {
        for ((_, step), result) in details.steps.iter_mut().zip(&results) {
            step.id = written_id(result).or_else(|| step.id.take());
        }
    });
    Ok(body_of(&results))
}

/// Returns the profiles with the routes of steps: reads and writes of records.
fn profiles() -> Profiles {
    Profiles { mutations: true, ..Profiles::default() }
}

/// A step whose route and body are valid.
struct CheckedStep {
    entity: String,
    is_write: bool,
}

/// Checks the route, the members and the body of a step, and whether the caller may perform such a write.
fn check(
    cx: &RequestContext<'_>,
    step: &BatchStep,
    principal: Option<&Principal>,
) -> Result<CheckedStep, WireError> {
    let route = Route::parse(&BasePath::root(), &profiles(), &step.method, &step.path);
    let route = route.map_err(|error| explain_base(error, cx, &step.path))?;
    let is_put = step.method == Method::PUT;
    let (entity, takes_body, takes_query) = match &route {
        Route::Point { entity, .. } if step.method == Method::GET => (entity, false, true),
        Route::Update { entity, .. } if step.body.is_none() => (entity, false, true),
        Route::Create { entity }
        | Route::Update { entity, .. }
        | Route::Attach { entity, .. }
        | Route::Connect { entity, .. } => (entity, true, true),
        Route::Delete { entity, .. } | Route::Disconnect { entity, .. } | Route::Remove { entity, .. } => {
            (entity, false, false)
        }
        _ => {
            let message = "A step is a write of a record or a relation, or a read of one record";
            return Err(WireError::validation(message));
        }
    };
    let is_read = takes_query && !takes_body;
    let refused = match (&step.body, &step.query) {
        (None, _) if takes_body => Some("A write with this method requires a 'body'"),
        (Some(_), _) if !takes_body => Some("A step with this method takes no 'body'"),
        (_, None) if is_read && is_put => {
            Some("A write with this method requires a 'body', and a read requires a 'query'")
        }
        (_, None) if is_read => Some("A read requires a 'query'"),
        (_, Some(_)) if !takes_query => Some("A step with this method has no result, and takes no 'query'"),
        _ => None,
    };
    if let Some(message) = refused {
        return Err(WireError::transport(message));
    }
    let fields = step.body.as_ref().map(|body| Fields::parse(body.as_bytes())).transpose();
    let fields = fields.map_err(|error| WireError::transport(error.to_string()))?;
    if takes_query {
        // The query of a step is never a registered one.
        cx.shared.queries.allow_unregistered()?;
    }
    let target = route.write_target().filter(|_| !is_read);
    if let Some(target) = target {
        let request = WriteRequest::new(target).with_principal(principal);
        cx.shared.mesh.check_write(&request).map_err(Error::from)?;
    }
    cx.audit(|details| details.add_step(&step.method, entity, target.as_ref(), fields.as_ref()));
    Ok(CheckedStep { entity: entity.clone().into_owned(), is_write: target.is_some() })
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
