//! Recording of an uploaded file: a write of its storage key to the field's column, and of `meta` to other fields.

use mesh_plan::{
    Changes, Context, Error, Fields, Mesh, Request, Value, WriteError, WriteRequest, WriteTarget,
};
use mesh_ql::Query;
use mesh_uploads::StoredFile;
use mesh_wire::WireError;
use serde_json::{Map, Value as Json};

use crate::routes::write::commit::commit;

/// The field of a record that takes a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileColumn<'a> {
    pub(crate) entity: &'a str,
    /// `None` if the record is to be created.
    pub(crate) id: Option<&'a str>,
    pub(crate) field: &'a str,
}

impl<'a> FileColumn<'a> {
    fn target(&self) -> WriteTarget<'a> {
        match self.id {
            Some(id) => WriteTarget::Update { entity: self.entity, id },
            None => WriteTarget::Create { entity: self.entity },
        }
    }
}

/// Checks that the record exists and that its field is writable, before the body is read.
pub(crate) async fn find_record(
    mesh: &Mesh,
    column: FileColumn<'_>,
    context: Context,
) -> Result<(), WireError> {
    let principal = context.principal.clone();
    let set = [(column.field, Value::Null)];
    let request =
        WriteRequest::new(column.target()).with_server_values(&set).with_principal(principal.as_deref());
    mesh.plan_write(&request)?;
    let Some(id) = column.id else { return Ok(()) };
    let query = id_query(mesh, column.entity);
    let request = Request::new(&query).with_id(id).by(principal.as_deref());
    let plan = mesh.plan(&request)?;
    let found = mesh.read(&plan, &context).await.map_err(Error::Resolve)?;
    if found.bytes.as_ref() == b"null" {
        let missing = WriteError::NotFound { entity: column.entity.to_owned(), id: id.to_owned() };
        return Err(Error::Write(missing).into());
    }
    Ok(())
}

/// Writes the key into the column. Returns the id of a new record, as JSON and as in a URL.
pub(crate) async fn write_column(
    mesh: &Mesh,
    changes: &Changes,
    column: FileColumn<'_>,
    (file, meta): (&StoredFile, &Fields),
    context: Context,
) -> Result<Option<(Json, String)>, WireError> {
    let principal = context.principal.clone();
    let set = [(column.field, Value::Text(file.key.to_string()))];
    let query = id_query(mesh, column.entity);
    let request = WriteRequest::new(column.target())
        .with_fields(meta)
        .with_server_values(&set)
        .with_reply(&query)
        .with_principal(principal.as_deref());
    let mutation = mesh.plan_write(&request)?;
    let reply = commit(mesh, changes, mutation, context).await?;
    if column.id.is_some() {
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
