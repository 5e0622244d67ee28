//! Creation of several records by one request. `SPEC §18.1`

use bytes::Bytes;
use http::Response;
use mesh_plan::backend::{ScriptError, StepResult};
use mesh_plan::{Fields, WriteRequest, WriteTarget};
use mesh_wire::{WireError, request, response};

use super::commit::commit_all;
use super::{Shape, shape};
use crate::identity::caller::Caller;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;

/// The maximum number of records that one request creates.
const RECORDS_MAX: usize = 1_000;

/// Returns whether a body is a JSON array.
pub(super) fn is_list(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[")
}

/// Creates a record for each object of an array: either all records or none.
pub(super) async fn create(
    cx: &RequestContext<'_>,
    caller: &Caller,
    target: WriteTarget<'_>,
    body: &Bytes,
) -> Result<Response<Body>, WireError> {
    let records = parse(cx, body)?;
    cx.audit(|details| details.set_records(&records));
    let shape = shape(cx, caller).await?;
    if shape.is_none() {
        // The default shape, all scalar fields, is not a registered one.
        cx.shared.queries.allow_unregistered()?;
    }
    let principal = caller.principal();
    let mut request = WriteRequest::new(target).with_principal(principal.as_deref());
    if let Some(Shape { format, text, params }) = &shape {
        request = request.with_reply((*format, text.as_str())).with_reply_params(params.as_ref());
    }
    let context = cx.write_context(caller);
    admission::begin_write(cx)?;
    let creating = cx.shared.mesh.create_all(&request, &records, &context);
    let failed = |ScriptError { item, error, .. }| {
        let error = error_log::logged(context.request_id(), *error);
        match item {
            Some(item) => at_record(item, error),
            None => error,
        }
    };
    let created = commit_all(&cx.shared.options.changes, &context, creating, failed).await?;
    cx.audit(|details| {
        details.ids =
            created.changes.iter().filter_map(|change| change.id.as_deref().map(str::to_owned)).collect();
    });
    Ok(response::created_all(&cx.head, joined(&created.results)).map(Body::from))
}

/// Parses the objects of an array.
fn parse<'b>(cx: &RequestContext<'_>, body: &'b [u8]) -> Result<Vec<Fields<'b>>, WireError> {
    request::check_json(cx.head.headers)?;
    let items = Fields::split_list(body).map_err(|error| WireError::transport(error.to_string()))?;
    if items.is_empty() || items.len() > RECORDS_MAX {
        let message = format!("An array must contain 1 to {RECORDS_MAX} records, not {}", items.len());
        return Err(WireError::validation(message));
    }
    let record = |(index, text): (usize, &'b str)| {
        if !text.starts_with('{') {
            let message = "Each element of the array must be a JSON object of fields and their values";
            return Err(at_record(index, WireError::transport(message)));
        }
        let fields = Fields::parse(text.as_bytes());
        fields.map_err(|error| at_record(index, WireError::transport(error.to_string())))
    };
    items.into_iter().enumerate().map(record).collect()
}

/// Adds the index of a record to the paths of its error.
fn at_record(index: usize, mut error: WireError) -> WireError {
    for field in &mut error.fields {
        field.path = format!("{index}.{}", field.path);
    }
    let path = match &error.path {
        Some(path) => format!("{index}.{path}"),
        None => index.to_string(),
    };
    error.with_path(path)
}

/// Returns the array of all bodies.
fn joined(results: &[StepResult]) -> Bytes {
    let bodies = || results.iter().flat_map(StepResult::bodies);
    let mut all = Vec::with_capacity(bodies().map(|body| body.bytes.len() + 1).sum::<usize>() + 1);
    for body in bodies() {
        all.push(if all.is_empty() { b'[' } else { b',' });
        all.extend_from_slice(&body.bytes);
    }
    all.push(b']');
    all.into()
}
