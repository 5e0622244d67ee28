//! The steps of a write that handlers of the application share: parsing its fields, and running it.

use std::pin::pin;
use std::time::Duration;

use http::HeaderMap;
use mesh_plan::{
    Changes, Context, Error, Expected, Fields, Mesh, Mutation, ResolveError, ScriptError, Transacted,
    WriteError, WriteReply,
};
use mesh_wire::{WireError, request};

use crate::observability::error_log;

/// How long a write is awaited after its deadline. A commit that has started cannot be cancelled, and its client should
/// get the result.
const COMMIT_GRACE: Duration = Duration::from_secs(5);

/// Parses the members of a JSON body.
pub(crate) fn fields<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<Fields<'b>, WireError> {
    if !request::is_json(headers) {
        return Err(WireError::unsupported_media_type());
    }
    Fields::parse(body).map_err(|error| WireError::transport(error.to_string()))
}

/// Runs a write, under a condition if there is one, announces the changes that it makes, and reads its reply.
///
/// # Errors
/// Those of a write route. If only the reply cannot be read, the write has taken effect nevertheless.
pub(crate) async fn commit_and_read(
    mesh: &Mesh,
    changes: &Changes,
    write: (Mutation, Option<Expected>),
    context: Context,
) -> Result<WriteReply, WireError> {
    let mut reply = commit(mesh, changes, write, context).await?;
    match reply.unread.take() {
        Some(error) => Err(Error::Resolve(error).into()),
        None => Ok(reply),
    }
}

/// Runs a write and announces the changes that it makes. If only its reply cannot be read, the write has succeeded.
///
/// # Errors
/// Those of the write itself.
pub(crate) async fn commit(
    mesh: &Mesh,
    changes: &Changes,
    (mutation, expected): (Mutation, Option<Expected>),
    context: Context,
) -> Result<WriteReply, WireError> {
    // The future is pinned, so that it is not moved into the timeout.
    let writing = pin!(async {
        match expected {
            Some(expected) => mesh.write_if(mutation, expected, &context).await,
            None => mesh.write(mutation, &context).await.map_err(Error::Write),
        }
    });
    let timed_out = || Error::Resolve(ResolveError::TimedOut);
    let reply = within_commit_grace(&context, writing, timed_out).await;
    let reply = reply.map_err(|error| logged(&context, error))?;
    reply.changes.iter().cloned().for_each(|change| changes.notify(change));
    let request_id = context.request_id();
    tracing::debug!(request = %request_id, entity = reply.entity, id = reply.id, "written");
    if let Some(error) = &reply.unread {
        error_log::resolve_error(request_id, error);
    }
    Ok(reply)
}

/// Runs a transaction of several steps and announces the changes that it makes.
pub(crate) async fn commit_all(
    changes: &Changes,
    context: &Context,
    running: impl Future<Output = Result<Transacted, ScriptError>>,
) -> Result<Transacted, ScriptError> {
    let timed_out = || ResolveError::TimedOut.into();
    let done = within_commit_grace(context, running, timed_out).await?;
    done.changes.iter().cloned().for_each(|change| changes.notify(change));
    tracing::debug!(request = %context.request_id(), changes = done.changes.len(), "written");
    Ok(done)
}

/// Awaits a write until `COMMIT_GRACE` after its deadline.
pub(crate) async fn within_commit_grace<T, E>(
    context: &Context,
    writing: impl Future<Output = Result<T, E>>,
    timed_out: impl FnOnce() -> E,
) -> Result<T, E> {
    match context.deadline.map(|deadline| deadline + COMMIT_GRACE) {
        Some(deadline) => {
            tokio::time::timeout_at(deadline.into(), writing).await.unwrap_or_else(|_| Err(timed_out()))
        }
        None => writing.await,
    }
}

/// Logs the failure of a write, and returns the error for the client.
pub(crate) fn logged(context: &Context, error: Error) -> WireError {
    match &error {
        Error::Resolve(cause) | Error::Write(WriteError::Failed(cause)) => {
            error_log::resolve_error(context.request_id(), cause);
        }
        error => error_log::plan_error(context.request_id(), error),
    }
    error.into()
}
