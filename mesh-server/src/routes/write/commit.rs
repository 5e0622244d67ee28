//! The steps of a write that handlers of the application share: parsing its fields, and running it.

use std::pin::pin;

use http::HeaderMap;
use mesh_plan::backend::{Expected, ScriptError, Transacted};
use mesh_plan::mutation::{Outcome, WriteReply};
use mesh_plan::{Changes, Context, Fields, Mesh, Mutation};
use mesh_wire::{WireError, request};

use crate::observability::error_log;

/// Parses the members of a JSON body.
pub(crate) fn fields<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<Fields<'b>, WireError> {
    request::check_json(headers)?;
    Fields::parse(body).map_err(|error| WireError::transport(error.to_string()))
}

/// Runs a write, under a condition if there is one, announces the changes that it makes, and returns its reply.
///
/// # Errors
/// Those of a write route.
pub(crate) async fn commit_and_read(
    mesh: &Mesh,
    changes: &Changes,
    mutation: Mutation,
    expected: Option<Expected>,
    context: Context,
) -> Result<WriteReply, WireError> {
    let reply = commit(mesh, changes, mutation, expected, context).await?;
    if reply.body.is_err() { Err(WireError::reply_failed()) } else { Ok(reply) }
}

/// Runs a write and announces the changes that it makes. If only its reply cannot be read, the write has succeeded.
///
/// # Errors
/// Those of the write itself.
pub(crate) async fn commit(
    mesh: &Mesh,
    changes: &Changes,
    mutation: Mutation,
    expected: Option<Expected>,
    context: Context,
) -> Result<WriteReply, WireError> {
    // The future is pinned, so that it is not moved into the timeout.
    let writing = pin!(async {
        match expected {
            Some(expected) => mesh.write_if(mutation, expected, &context).await,
            None => mesh.write(mutation, &context).await,
        }
    });
    let outcome = until_decided(&context, writing).await;
    let reply =
        WireError::of_outcome(outcome.map_err(|error| error_log::logged(context.request_id(), error)))?;
    reply.changes.iter().cloned().for_each(|change| changes.notify(change));
    let request_id = context.request_id();
    tracing::debug!(request = %request_id, entity = reply.entity, id = reply.id, "written");
    if let Err(error) = &reply.body {
        error_log::resolve_error(request_id, error);
    }
    Ok(reply)
}

/// Runs a transaction of several steps and announces the changes that it makes. `failed` converts the error of a step.
///
/// # Errors
/// Those of a write route.
pub(crate) async fn commit_all(
    changes: &Changes,
    context: &Context,
    running: impl Future<Output = Outcome<Transacted, ScriptError>>,
    failed: impl FnOnce(ScriptError) -> WireError,
) -> Result<Transacted, WireError> {
    let done = WireError::of_outcome(until_decided(context, running).await.map_err(failed))?;
    done.changes.iter().cloned().for_each(|change| changes.notify(change));
    tracing::debug!(request = %context.request_id(), changes = done.changes.len(), "written");
    Ok(done)
}

/// Awaits the outcome of a write. A mutator obeys the deadline until it sends COMMIT, and then awaits the answer for the
/// same time again. The outcome of one that takes longer is unknown.
async fn until_decided<T, E>(
    context: &Context,
    writing: impl Future<Output = Outcome<T, E>>,
) -> Outcome<T, E> {
    let end = context.deadline.zip(context.commit_timeout).map(|(deadline, again)| deadline + again);
    let outcome = match end {
        Some(end) => {
            let late = |_| Outcome::unknown("the write has not ended in time");
            tokio::time::timeout_at(end.into(), writing).await.unwrap_or_else(late)
        }
        None => writing.await,
    };
    if let Outcome::Unknown(cause) = &outcome {
        error_log::chain(context.request_id(), &**cause);
    }
    outcome
}
