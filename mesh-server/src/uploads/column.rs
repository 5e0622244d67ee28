//! How does the server itself write down a file? Its key goes into the field's column, with `meta` beside it,
//! by the same way as any other write.

use mesh_plan::{Context, Error, Fields, Principal, Request, Value, WriteError, WriteRequest, WriteTarget};
use mesh_uploads::StoredFile;
use mesh_wire::WireError;
use serde_json::{Map, Value as Json, json};

use crate::app::Shared;
use crate::routes::write::carry_out;

/// The record that gets a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) entity: &'a str,
    /// `None` where it is to be made.
    pub(crate) id: Option<&'a str>,
    pub(crate) field: &'a str,
}

impl<'a> Place<'a> {
    fn target(&self) -> WriteTarget<'a> {
        match self.id {
            Some(id) => WriteTarget::Update { entity: self.entity, id },
            None => WriteTarget::Create { entity: self.entity },
        }
    }
}

/// Looks for the record, and checks that its field can be written, before a long body is read for nothing.
pub(crate) async fn find_record(
    shared: &Shared,
    place: Place<'_>,
    context: Context,
) -> Result<(), WireError> {
    let principal = context.principal.clone();
    let set = [(place.field, Value::Null)];
    let request = WriteRequest::new(place.target()).setting(&set).by(principal.as_deref());
    shared.mesh.plan_write(&request)?;
    let Some(id) = place.id else { return Ok(()) };
    let text = selection(shared, place.entity).to_string();
    let request = Request::point(mesh_ql::Format::Json, &text, id).by(principal.as_deref());
    let plan = shared.mesh.plan(&request)?;
    let found = shared.mesh.read(&plan, &context).await.map_err(Error::Resolve)?;
    if found.bytes.as_ref() == b"null" {
        let missing = WriteError::NotFound { entity: place.entity.to_owned(), id: id.to_owned() };
        return Err(Error::Write(missing).into());
    }
    Ok(())
}

/// Writes the key into the column, and returns the id of a new record as the reply shows it and as it stands
/// in a URL.
pub(crate) async fn write_column(
    shared: &Shared,
    place: Place<'_>,
    (file, meta): (&StoredFile, &Fields),
    context: Context,
) -> Result<Option<(Json, String)>, WireError> {
    let principal: Option<std::sync::Arc<Principal>> = context.principal.clone();
    let set = [(place.field, Value::Text(file.key.to_string()))];
    let text = selection(shared, place.entity).to_string();
    let request = WriteRequest::new(place.target())
        .with_fields(meta)
        .setting(&set)
        .shaped(mesh_ql::Format::Json, &text)
        .by(principal.as_deref());
    let mutation = shared.mesh.plan_write(&request)?;
    let reply = carry_out(shared, mutation, context).await?;
    if place.id.is_some() {
        return Ok(None);
    }
    let body = reply.body.and_then(|body| serde_json::from_slice::<Map<String, Json>>(&body.bytes).ok());
    let shown = body.and_then(|body| body.into_iter().next()).map(|(_, id)| id);
    Ok(Some((shown.unwrap_or_else(|| Json::from(reply.id.as_str())), reply.id)))
}

/// A query for the id alone.
fn selection(shared: &Shared, key: &str) -> Json {
    let schema = shared.mesh.schema();
    let entity = schema.find(key).map(|id| schema.entity(id));
    let id = entity.and_then(|entity| entity.id.map(|id| entity.field(id).name.as_str()));
    json!({ key: { "$select": { id.unwrap_or("id"): true } } })
}
