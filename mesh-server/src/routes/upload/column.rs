//! Recording of an uploaded file: a write of its storage key to the field's column, and of `meta` to other fields.

use mesh_plan::{Context, Error, Mesh, RecordId, Request, Value, WriteError, WriteRequest, WriteTarget};
use mesh_ql::Query;
use mesh_schema::{Entity, Schema};
use mesh_wire::WireError;
use serde_json::{Map, Value as Json};

use crate::app::shared::Shared;
use crate::routes::write::commit::commit;
use crate::uploads::Upload;

/// The id of a new record: its fields as JSON, and as in [`RecordId::Text`].
pub(super) type NewId = Option<(Map<String, Json>, String)>;

fn target<'a>(entity: &'a str, id: Option<RecordId<'a>>) -> WriteTarget<'a> {
    id.map_or(WriteTarget::Create { entity }, |id| WriteTarget::Update { entity, id })
}

/// Checks that the record exists, unless it is to be created, and that its field is writable, before the body is read.
pub(super) async fn find_record(
    mesh: &Mesh,
    (entity, id, field): (&str, Option<RecordId<'_>>, &str),
    context: Context,
) -> Result<(), WireError> {
    let principal = context.principal.as_deref();
    let set = [(field, Value::Null)];
    let request = WriteRequest::new(target(entity, id)).with_server_values(&set).with_principal(principal);
    mesh.plan_write(&request)?;
    let Some(id) = id else { return Ok(()) };
    let query = id_query(mesh, entity);
    let plan = mesh.plan(&Request::new(&query).with_id(id).with_principal(principal))?;
    let found = mesh.read(&plan, &context).await.map_err(Error::Resolve)?;
    if found.bytes.as_ref() == b"null" {
        let id = id.to_text(plan.node().id.len()).into_owned();
        let missing = WriteError::NotFound { entity: entity.to_owned(), id };
        return Err(Error::Write(missing).into());
    }
    Ok(())
}

/// Writes the key of the file into its column, and the other fields.
pub(super) async fn write_column(
    Shared { mesh, options, .. }: &Shared,
    upload: &Upload,
    context: Context,
) -> Result<NewId, WireError> {
    let principal = context.principal.clone();
    let set = [(upload.field.as_str(), Value::Text(upload.file.key.to_string()))];
    let query = id_query(mesh, &upload.entity);
    let request = WriteRequest::new(target(&upload.entity, upload.id.as_deref().map(RecordId::Text)))
        .with_fields(&upload.meta)
        .with_server_values(&set)
        .with_reply(&query)
        .with_principal(principal.as_deref());
    let mutation = mesh.plan_write(&request)?;
    let reply = commit(mesh, &options.changes, mutation, None, context).await?;
    if upload.id.is_some() {
        return Ok(None);
    }
    let body = reply.body.ok().flatten();
    let body = body.and_then(|body| serde_json::from_slice::<Map<String, Json>>(&body.bytes).ok());
    Ok(Some((body.unwrap_or_else(|| texts(mesh.schema(), &upload.entity, &reply.id)), reply.id)))
}

/// Returns the fields of an id, each as text.
pub(super) fn texts(schema: &Schema, key: &str, id: &str) -> Map<String, Json> {
    let Some(entity) = schema.find(key).map(|id| schema.entity(id)) else { return Map::new() };
    let texts = RecordId::Text(id).to_texts(entity.id.len());
    entity.id_fields().map(|field| field.name.clone()).zip(texts.into_iter().map(Json::from)).collect()
}

/// Returns a query that selects the id only.
fn id_query(mesh: &Mesh, key: &str) -> Query {
    let schema = mesh.schema();
    let entity = schema.find(key).map(|id| schema.entity(id));
    let names = entity.into_iter().flat_map(Entity::id_fields).map(|field| field.name.as_str());
    names.fold(mesh_ql::build::query(key), |query, name| query.field(name)).build()
}
