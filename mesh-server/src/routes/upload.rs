//! Uploads: the statement and the policy are checked before the body is read, then the body is stored, then the record
//! is written. `SPEC §9`

mod column;

use std::time::Instant;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use mesh_plan::error::PlanErrorKind;
use mesh_plan::{Context, Fields, PlanError, RecordId};
use mesh_ql::Format;
use mesh_schema::{Entity, Member, Schema};
use mesh_uploads::{
    FinishError, MultipartError, ReceiveOptions, ReceivedUpload, RecordError, StatedParts, Statement,
    UploadError, UploadPolicy,
};
use mesh_wire::{Effect, QuerySource, WireError, headers, response};
use serde_json::{Map, Value as Json};

use self::column::{NewId, find_record, write_column};
use crate::app::shared::Shared;
use crate::identity::caller::Caller;
use crate::identity::signed::Signed;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::{Body, RequestBody};
use crate::pipeline::context::RequestContext;
use crate::uploads::{Upload, UploadHandler, Uploads};

/// Returns whether a request to a path that uploads share with writes is an upload. `SPEC §11`
pub(super) fn is_upload(cx: &RequestContext<'_>) -> bool {
    let profiles = &cx.shared.profiles;
    profiles.uploads && (!profiles.mutations || is_form(cx))
}

fn is_form(cx: &RequestContext<'_>) -> bool {
    let value = cx.head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default();
    media.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// The names in the path.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub(super) entity: &'p str,
    /// `None` if a record is to be created.
    pub(super) id: Option<RecordId<'p>>,
    /// `None` if the statement may name the field.
    pub(super) field: Option<&'p str>,
}

/// Answers `POST {base}/:entity` and `POST {base}/:entity/:id/:field` with `multipart/form-data`.
pub(super) async fn upload(
    cx: &RequestContext<'_>,
    path: Path<'_>,
    body: RequestBody,
) -> Result<Response<Body>, WireError> {
    cx.audit(|details| {
        details.event = Some("upload");
        details.entity = Some(path.entity.to_owned());
        details.id = path.id.map(|id| id.to_text(1).into_owned());
        details.fields = path.field.map(str::to_owned).into_iter().collect();
    });
    let uploads = cx.shared.options.uploads.as_ref().ok_or_else(WireError::not_found)?;
    let announced = body.announced();
    uploads.check_announced(cx.shared.mesh.schema(), announced)?;
    let caller = authenticate::without_body(cx, Signed::Upload).await?;
    if !is_form(cx) {
        return Err(UploadError::from(MultipartError::NotForm).into());
    }
    let statement = statement(cx)?;
    // Fields that a policy hides or makes read-only accept no files.
    let schema = cx.shared.mesh.schema_for(caller.principal().as_deref());
    let entity = find_entity(&schema, path.entity)?;
    statement.check(path.entity, path.field).map_err(UploadError::from)?;
    let field = path.field.or(statement.field.as_deref());
    let (field, policy) = find_field(uploads, entity, field)?;
    let binds = requires_binding(cx);
    if cx.shared.options.authenticator.integrity.is_some() && statement.hash.is_none() {
        return Err(UploadError::HashMissing.into());
    }
    if binds && statement.content_type.is_none() {
        return Err(UploadError::StatementIncomplete { name: "contentType" }.into());
    }
    policy.check_length(announced, &uploads.bounds)?;
    let handler = uploads.handler_of(&entity.key, field).cloned();
    if handler.is_none() {
        let column = (entity.key.as_str(), path.id, field);
        find_record(&cx.shared.mesh, column, cx.resolver_context(&caller)).await?;
    }

    let _open = cx.shared.options.client_limits.begin_upload(cx.address)?;
    let received = receive(cx, uploads, (&policy, statement.parts(binds)), body).await?;
    let meta = Fields::parse(received.meta.as_bytes());
    let meta = meta.map_err(|error| WireError::transport(format!("The part 'meta': {error}")))?.into_owned();
    let upload = Upload {
        entity: entity.key.clone(),
        id: path.id.map(|id| id.to_text(entity.id.len()).into_owned()),
        field: field.to_owned(),
        file: received.file.clone(),
        meta,
        session: caller.session().cloned(),
    };
    admission::begin_write(cx)?;
    record(cx, &caller, handler.as_deref(), (received, upload)).await
}

/// Returns whether a statement must cover all parts, because every signature must be bound. `SPEC §9.1`
fn requires_binding(cx: &RequestContext<'_>) -> bool {
    cx.shared
        .options
        .authenticator
        .integrity
        .as_ref()
        .is_some_and(|integrity| integrity.gate.requires_binding())
}

/// Parses the statement in the query header, which is required even without signatures. `SPEC §9.1`
fn statement(cx: &RequestContext<'_>) -> Result<Statement, WireError> {
    let missing = || WireError::transport(format!("An upload requires a statement in {}", headers::QUERY));
    if cx.mesh_headers.query.is_none() {
        return Err(missing());
    }
    match cx.mesh_headers.raw_query()?.decode()? {
        QuerySource::Text { format: Format::Json, text } => Ok(Statement::parse(&text)?),
        QuerySource::Text { .. } => {
            Err(WireError::transport(format!("An upload's statement is JSON; leave {} out", headers::FORMAT)))
        }
        QuerySource::Id(_) => Err(missing()),
    }
}

fn find_entity<'s>(schema: &'s Schema, key: &str) -> Result<&'s Entity, WireError> {
    let entity = schema.find(key).map(|id| schema.entity(id));
    entity.ok_or_else(|| PlanError::new(PlanErrorKind::unknown_entity(schema, key), "").into())
}

/// Finds the field that takes the file. `SPEC §9.3`, `SPEC §9.6`
fn find_field<'e>(
    uploads: &Uploads,
    entity: &'e Entity,
    name: Option<&str>,
) -> Result<(&'e str, UploadPolicy), WireError> {
    let refused = |message: String| WireError::validation(message).with_path(entity.key.clone());
    let Some(name) = name else {
        let mut fields = entity.fields.iter().filter(|field| field.upload.is_some());
        return match (fields.next(), fields.next()) {
            (Some(field), None) => Ok((&field.name, uploads.policy_of(field).unwrap_or_default())),
            (Some(_), Some(_)) => Err(refused(format!(
                "Entity '{}' has several fields that take files; name one in the statement",
                entity.key
            ))),
            (None, _) => Err(refused(format!("No field of entity '{}' takes files", entity.key))),
        };
    };
    let field = match entity.member(name) {
        Some(Member::Field(id)) => entity.field(id),
        Some(_) => return Err(refused(format!("'{name}' of entity '{}' takes no files", entity.key))),
        None => {
            let kind = PlanErrorKind::unknown_field(entity, name);
            return Err(PlanError::new(kind, entity.key.as_str()).into());
        }
    };
    match uploads.policy_of(field) {
        Some(policy) => Ok((&field.name, policy)),
        None => Err(refused(format!("Field '{name}' of entity '{}' takes no files", entity.key))),
    }
}

/// Stages the body and checks it against the policy and the statement.
async fn receive(
    cx: &RequestContext<'_>,
    uploads: &Uploads,
    (policy, stated): (&UploadPolicy, StatedParts<'_>),
    body: RequestBody,
) -> Result<ReceivedUpload, WireError> {
    let content_type = headers::single(cx.head.headers, &CONTENT_TYPE)?;
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let incoming = ReceiveOptions { content_type, stated, policy, bounds: uploads.bounds };
    let received = mesh_uploads::receive(&*uploads.store, incoming, body.into_paced(uploads.pace)).await;
    received.map_err(|error| store_failed(cx, error))
}

/// Returns the error of an upload, and logs it if the store has failed.
fn store_failed(cx: &RequestContext<'_>, error: UploadError) -> WireError {
    if let UploadError::Store(_) = error {
        error_log::chain(cx.request_id(), &error);
    }
    error.into()
}

/// Makes the file durable, writes the record and publishes the file.
async fn record(
    cx: &RequestContext<'_>,
    caller: &Caller,
    handler: Option<&dyn UploadHandler>,
    (received, upload): (ReceivedUpload, Upload),
) -> Result<Response<Body>, WireError> {
    let shared = cx.shared;
    // The upload may have taken long. The remaining work gets the time limit of a request without a body.
    let deadline = Instant::now() + shared.options.limits.request_timeout;
    let context = cx.write_context(caller).with_deadline(deadline);
    let recorded = upload.clone();
    let written = async {
        let written = write(shared, handler, upload, context).await;
        written.map_err(|error| match error.effect {
            None | Some(Effect::None) => RecordError::Refused(error),
            Some(_) => RecordError::Unknown(error),
        })
    };
    let id = match received.finish(written).await {
        Ok(id) => id,
        Err(FinishError::Record(error)) => return Err(error),
        Err(FinishError::Seal(error)) => return Err(store_failed(cx, error.into())),
        Err(FinishError::Publish { recorded, error }) => {
            // The record is written and the bytes are durable: the first download publishes the file.
            error_log::chain(cx.request_id(), &error);
            recorded
        }
    };
    let Upload { entity, file, .. } = &recorded;
    tracing::debug!(request = %cx.head.request_id, key = %file.key, size = file.size, "stored");
    if let Some((_, text)) = &id {
        cx.audit(|details| details.id = Some(text.clone()));
    }
    let new_id = id.as_ref().filter(|_| recorded.id.is_none());
    let location = new_id.map(|(_, text)| cx.shared.location(entity, text));
    let body = reply(shared, &recorded, id.map(|(shown, _)| shown));
    Ok(response::written(&cx.head, location, Some(body)).map(Body::from))
}

async fn write(
    shared: &Shared,
    handler: Option<&dyn UploadHandler>,
    upload: Upload,
    context: Context,
) -> Result<NewId, WireError> {
    match handler {
        Some(handler) => {
            let entity = upload.entity.clone();
            let id = handler.record(upload, context).await.map_err(failed_handler)?;
            Ok(id.map(|id| (column::texts(shared.mesh.schema(), &entity, &id), id)))
        }
        None => write_column(shared, &upload, context).await,
    }
}

/// Returns the error of a handler. One that has failed unexpectedly may have written the record.
fn failed_handler(error: WireError) -> WireError {
    let may_have_written = error.effect.is_none() && error.status == StatusCode::INTERNAL_SERVER_ERROR;
    if may_have_written { WireError::outcome_unknown() } else { error }
}

/// Returns the body of the reply. If the field has the name of another member, that member contains the key. `SPEC §9.3`
fn reply(shared: &Shared, Upload { field, file, .. }: &Upload, id: Option<Map<String, Json>>) -> Bytes {
    let mut body = id.unwrap_or_default();
    body.insert(field.clone(), file.key.to_string().into());
    let rest: [(&str, Json); 4] = [
        ("contentHash", file.hash.to_string().into()),
        ("size", file.size.into()),
        ("contentType", file.content_type.as_str().into()),
        ("url", format!("{}/{}/{}", shared.options.base_path, shared.profiles.files, file.key).into()),
    ];
    for (name, value) in rest {
        body.entry(name).or_insert(value);
    }
    Bytes::from(Json::Object(body).to_string())
}
