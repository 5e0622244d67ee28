//! Batches: several writes and point reads in one transaction. `SPEC §18.4`

mod path;
mod plan;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use mesh_plan::{Action, Fields, ScriptError, ScriptStep, StepResult};
use mesh_wire::request::{BatchStep, IfMatch, decode_batch};
use mesh_wire::{BasePath, Profiles, Route, WireError, response};

use self::plan::Batch;
use super::write::commit::{commit_all, logged};
use super::write_target;
use crate::observability::audit::AuditLog;
use crate::pipeline::admission;
use crate::pipeline::authenticate::{self, Content};
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::{Caller, RequestContext};
use crate::pipeline::query;

/// Answers `POST {base}/batch`.
pub(super) async fn answer(cx: &RequestContext<'_>, body: RequestBody) -> Result<Response<Body>, WireError> {
    let (caller, body) = authenticate::with_body(cx, Content::Fields, body).await?;
    IfMatch::refuse(cx.head.headers)?;
    if cx.mesh_headers.query.is_some() || cx.mesh_headers.query_id.is_some() {
        return Err(WireError::transport(
            "A batch has no query; give each step a 'query' that shapes its result",
        ));
    }
    let results = run(cx, &caller, &body).await?;
    Ok(response::written(&cx.head, None, Some(results)).map(Body::from))
}

/// Runs the steps of a body, and returns the body of the reply.
pub(super) async fn run(cx: &RequestContext<'_>, caller: &Caller, body: &[u8]) -> Result<Bytes, WireError> {
    let steps = decode_batch(cx.head.headers, body)?;
    let mut entities = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let entity = check(cx, step).map_err(|error| error.at_step(index))?;
        entities.push(entity);
    }
    let batch = Batch::new(Arc::clone(&cx.shared.mesh), steps, caller.principal())?;
    let entities: Vec<&str> = entities.iter().map(String::as_str).collect();
    let _permit = admission::admit(cx)?;
    let context = cx.resolver_context(caller);
    let running = cx.shared.mesh.transact(&entities, Arc::new(batch), &context);
    let done = commit_all(&cx.shared.changes, &context, running).await;
    let failed = |ScriptError { step, error, .. }| logged(&context, *error).at_step(step);
    let results = done.map_err(failed)?.results;
    cx.audit(|details| {
        for ((_, step), result) in details.steps.iter_mut().zip(&results) {
            step.id = written_id(result).or_else(|| step.id.take());
        }
    });
    Ok(body_of(&results))
}

/// The routes of steps: reads and writes of records.
fn profiles() -> Profiles {
    Profiles { mutations: true, ..Profiles::default() }
}

/// Checks the route and the body of a step, and returns its entity.
fn check(cx: &RequestContext<'_>, step: &BatchStep) -> Result<String, WireError> {
    let route = Route::parse(&BasePath::root(), &profiles(), &step.method, &step.path);
    let route = route.map_err(|error| explain_base(error, cx, &step.path))?;
    let is_read = |body: &Option<String>| match &route {
        Route::Point { .. } => true,
        Route::Update { .. } => body.is_none(),
        _ => false,
    };
    let fields = match &step.body {
        Some(body) => {
            Some(Fields::parse(body.as_bytes()).map_err(|it| WireError::transport(it.to_string()))?)
        }
        None => None,
    };
    let (entity, has_result) = match &route {
        Route::Point { entity, .. } | Route::Update { entity, .. } if is_read(&step.body) => {
            if step.query.is_none() {
                return Err(WireError::transport("A read needs a 'query'"));
            }
            (entity, true)
        }
        Route::Create { entity }
        | Route::Update { entity, .. }
        | Route::Attach { entity, .. }
        | Route::Connect { entity, .. } => {
            if fields.is_none() {
                return Err(WireError::transport("A write by this method needs a 'body'"));
            }
            (entity, true)
        }
        Route::Delete { entity, .. } | Route::Disconnect { entity, .. } | Route::Remove { entity, .. } => {
            (entity, false)
        }
        _ => {
            let message = "A step is a write of a record or a relation, or a read of one record";
            return Err(WireError::validation(message));
        }
    };
    if has_result || step.query.is_some() {
        // Steps have no registered shapes.
        query::allow_unregistered(cx)?;
    }
    let target = write_target(&route).filter(|_| !is_read(&step.body));
    let with_values = cx.shared.audit.as_ref().is_some_and(AuditLog::has_values);
    cx.audit(|details| details.add_step(&step.method, entity, target.as_ref(), fields.as_ref(), with_values));
    Ok(entity.clone().into_owned())
}

/// Adds to the error of a path that it includes the base path, if it does.
fn explain_base(mut error: WireError, cx: &RequestContext<'_>, path: &str) -> WireError {
    let base = cx.shared.base.as_str();
    if let Some(rest) = path.strip_prefix(base).filter(|rest| !base.is_empty() && rest.starts_with('/')) {
        error.message = format!("{}; 'path' begins below the base path: '{rest}'", error.message).into();
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
