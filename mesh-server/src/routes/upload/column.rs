//! Recording of an uploaded file: a write of its storage key to the field's column, and of `meta` to other fields.

use mesh_plan::{Context, Error, Mesh, Request, Value, WriteError, WriteRequest, WriteTarget};
use mesh_ql::Query;
use mesh_wire::WireError;
use serde_json::{Map, Value as Json};

use crate::app::shared::Shared;
use crate::routes::write::commit::commit;
use crate::uploads::Upload;

/// The id of a new record: as JSON and as in a URL.
pub(super) type NewId = Option<(Json, String)>;

fn target<'a>(entity: &'a str, id: Option<&'a str>) -> WriteTarget<'a> {
    id.map_or(WriteTarget::Create { entity }, |id| WriteTarget::Update { entity, id })
}

/// Checks that the record exists, unless it is to be created, and that its field is writable, before the body is read.
pub(super) async fn find_record(
    mesh: &Mesh,
    (entity, id, field): (&str, Option<&str>, &str),
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
        let missing = WriteError::NotFound { entity: entity.to_owned(), id: id.to_owned() };
        return Err(Error::Write(missing).into());
    }
    Ok(())
}

/// Writes the key of the file into its column, and the other fields.
pub(super) async fn write_column(
    Shared { mesh, changes, .. }: &Shared,
    upload: &Upload,
    context: Context,
) -> Result<NewId, WireError> {
    let principal = context.principal.clone();
    let set = [(upload.field.as_str(), Value::Text(upload.file.key.to_string()))];
    let query = id_query(mesh, &upload.entity);
    let request = WriteRequest::new(target(&upload.entity, upload.id.as_deref()))
        .with_fields(&upload.meta)
        .with_server_values(&set)
        .with_reply(&query)
        .with_principal(principal.as_deref());
    let mutation = mesh.plan_write(&request)?;
    let reply = commit(mesh, changes, mutation, context).await?;
    if upload.id.is_some() {
        return Ok(None);
    }
    let body = reply.body.and_then(|body| serde_json::from_slice::<Map<String, Json>>(&body.bytes).ok());
    let shown = body.and_then(|body| body.into_iter().next()).map(|(_, id)| id);
    Ok(Some((shown.unwrap_or_else(|| Json::from(reply.id.as_str())), reply.id)))
}

/// Returns a query that selects the id only.
fn id_query(mesh: &Mesh, key: &str) -> Query {
    let schema = mesh.schema();
    let entity = schema.find(key).map(|id| schema.entity(id));
    let id = entity.and_then(|entity| entity.id.map(|id| entity.field(id).name.as_str()));
    mesh_ql::build::query(key).field(id.unwrap_or("id")).build()
}
