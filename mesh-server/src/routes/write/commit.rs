//! The steps of a write that handlers of the application share: parsing its fields, and running it.

use std::time::Duration;

use http::HeaderMap;
use mesh_plan::{Changes, Context, Error, Fields, Mesh, Mutation, ResolveError, WriteError, WriteReply};
use mesh_wire::{WireError, request};

use crate::observability::error_log;

/// How long after its deadline a write is still awaited: a commit that has started cannot be cancelled, and its client
/// should be sent the result.
const COMMIT_GRACE: Duration = Duration::from_secs(5);

/// Parses the members of a JSON body.
pub(crate) fn fields(headers: &HeaderMap, body: &[u8]) -> Result<Fields, WireError> {
    if !request::is_json(headers) {
        return Err(WireError::unsupported_media_type());
    }
    Fields::parse(body).map_err(|error| WireError::transport(error.to_string()))
}

/// Runs a write, announces the changes that it makes, and reads its reply.
///
/// # Errors
/// Those of a write route. If only the reply cannot be read, the write is in effect nevertheless.
pub(crate) async fn commit_and_read(
    mesh: &Mesh,
    changes: &Changes,
    mutation: Mutation,
    context: Context,
) -> Result<WriteReply, WireError> {
    let mut reply = commit(mesh, changes, mutation, context).await?;
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
    mutation: Mutation,
    context: Context,
) -> Result<WriteReply, WireError> {
    let request_id = context.request_id().to_owned();
    let deadline = context.deadline.map(|deadline| deadline + COMMIT_GRACE);
    let writing = mesh.write(mutation, &context);
    let outcome = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), writing)
            .await
            .unwrap_or(Err(WriteError::Failed(ResolveError::TimedOut))),
        None => writing.await,
    };
    match outcome {
        Ok(reply) => {
            reply.changes.iter().cloned().for_each(|change| changes.notify(change));
            tracing::debug!(request = %request_id, entity = reply.entity, id = reply.id, "written");
            if let Some(error) = &reply.unread {
                error_log::resolve_error(&request_id, error);
            }
            Ok(reply)
        }
        Err(error) => {
            if let WriteError::Failed(error) = &error {
                error_log::resolve_error(&request_id, error);
            }
            Err(Error::Write(error).into())
        }
    }
}
