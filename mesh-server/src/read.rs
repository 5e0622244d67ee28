//! How is a read answered? Its query from head or body, through the core, to the reply's body.

use std::error::Error as _;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Body;
use mesh_plan::{Context, Error, JsonBody, Mesh, Request, ResolveError};
use mesh_wire::request::{Posted, decode_body, decode_head};
use mesh_wire::{Asked, Source, WireError};

use crate::body;

/// `GET {base}/:entity`
pub(crate) async fn collection(
    mesh: &Mesh,
    asked: &Asked<'_>,
    entity: &str,
    deadline: Instant,
) -> Result<Bytes, WireError> {
    match decode_head(asked.headers)? {
        Source::Text { format, text } => {
            run(mesh, asked, &Request::collection(format, &text).of_entity(entity), deadline).await
        }
        Source::Id(_) => Err(WireError::query_id_unknown()),
    }
}

/// `GET {base}/:entity/:id` and, without write routes, PUT.
pub(crate) async fn point(
    mesh: &Mesh,
    asked: &Asked<'_>,
    entity: &str,
    id: &str,
    deadline: Instant,
) -> Result<Bytes, WireError> {
    match decode_head(asked.headers)? {
        Source::Text { format, text } => {
            run(mesh, asked, &Request::point(format, &text, id).of_entity(entity), deadline).await
        }
        Source::Id(_) => Err(WireError::query_id_unknown()),
    }
}

/// `POST {base}`
pub(crate) async fn posted<B: Body>(
    mesh: &Mesh,
    asked: &Asked<'_>,
    sent: B,
    limit: usize,
    deadline: Instant,
) -> Result<Bytes, WireError> {
    let bytes = body::read(sent, limit, deadline).await?;
    let Posted { format, text, id } = decode_body(asked.headers, &bytes)?;
    let request = match &id {
        Some(id) => Request::point(format, &text, id),
        None => Request::collection(format, &text),
    };
    run(mesh, asked, &request, deadline).await
}

async fn run(
    mesh: &Mesh,
    asked: &Asked<'_>,
    request: &Request<'_>,
    deadline: Instant,
) -> Result<Bytes, WireError> {
    let plan = mesh.plan(request).map_err(WireError::from)?;
    let context = Context::new(asked.request_id.as_str()).with_deadline(deadline);
    let reading = tokio::time::timeout_at(deadline.into(), mesh.read(plan, context)).await;
    match reading.unwrap_or(Err(ResolveError::TimedOut)) {
        Ok(JsonBody { bytes, rows }) => {
            tracing::debug!(request = %asked.request_id, rows, bytes = bytes.len(), "read");
            Ok(bytes)
        }
        Err(error) => {
            log(asked, &error);
            Err(Error::Resolve(error).into())
        }
    }
}

/// Logs what the client is not told.
fn log(asked: &Asked<'_>, error: &ResolveError) {
    if let ResolveError::TooLarge { .. } | ResolveError::SumOverflow = error {
        return;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    tracing::error!(request = %asked.request_id, "{text}");
}
