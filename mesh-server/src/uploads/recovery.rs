//! Does a record point to a stored file? Asked after a crash, and by readers who are faster than publishing.

use std::time::{Duration, Instant};

use mesh_plan::{Context, Error, Predicate, Principal, Request, ResolveError};
use mesh_schema::Entity;
use mesh_uploads::{RecoveryReport, StorageKey, StoreError, SweepReport};
use mesh_wire::WireError;
use serde_json::{Value as Json, json};

use super::Uploads;
use crate::app::Shared;

/// How long one look for a record may take. There need be no index on the column.
const PATIENCE: Duration = Duration::from_secs(60);

/// What whoever looks for a record can see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight<'a> {
    /// All records: the server looks for itself.
    All,
    /// What the policies show to somebody.
    Of(Option<&'a Principal>),
}

/// Clears what a crash has left in the store.
pub(crate) async fn recover(shared: &Shared, uploads: &Uploads) -> Result<RecoveryReport, StoreError> {
    mesh_uploads::recover(&*uploads.store, |key| is_recorded(shared, uploads, key, Sight::All)).await
}

/// Looks for files of that age without a record, and removes them if told to.
pub(crate) async fn sweep(
    shared: &Shared,
    uploads: &Uploads,
    (min_age, remove): (Duration, bool),
) -> Result<SweepReport, StoreError> {
    let mut fields = shared.mesh.schema().entities().flat_map(|(_, entity)| &entity.fields);
    if !fields.any(|field| field.upload.is_some()) {
        // All of them would count as not needed.
        return Err(StoreError::new("tell which files are needed", "no field of the schema takes files"));
    }
    let recorded = |key| is_recorded(shared, uploads, key, Sight::All);
    mesh_uploads::sweep_orphans(&*uploads.store, (min_age, remove), recorded).await
}

/// Whether a record points to that key, as far as somebody can see. Where records are hidden from them, a no
/// is none: it is an error, and the file stays.
pub(crate) async fn is_recorded(
    shared: &Shared,
    uploads: &Uploads,
    key: StorageKey,
    sight: Sight<'_>,
) -> Result<bool, WireError> {
    let mut undecided = None;
    for (_, entity) in shared.mesh.schema().entities() {
        for field in entity.fields.iter().filter(|field| field.upload.is_some()) {
            let answer = match uploads.handler_of(&entity.key, &field.name) {
                Some(handler) => handler.is_recorded(key).await,
                None => is_in_column(shared, entity, &field.name, (key, sight)).await,
            };
            match answer {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => undecided = Some(error),
            }
        }
    }
    undecided.map_or(Ok(false), Err)
}

async fn is_in_column(
    shared: &Shared,
    entity: &Entity,
    field: &str,
    (key, sight): (StorageKey, Sight<'_>),
) -> Result<bool, WireError> {
    let query = json!({ entity.key.as_str(): {
        "$select": { field: true },
        "$where": { "field": field, "op": "eq", "value": key.to_string() },
        "$page": { "first": 1 },
    } });
    let text = query.to_string();
    let request = Request::collection(mesh_ql::Format::Json, &text);
    let plan = match sight {
        Sight::All => shared.mesh.plan_unrestricted(&request)?,
        Sight::Of(principal) => shared.mesh.plan(&request.by(principal))?,
    };
    // What is asked for is one comparison. If there is more, a policy has added it.
    let sees_all = matches!(plan.node().filter, Some(Predicate::Compare { .. }));
    let context = Context::new("recovery").with_deadline(Instant::now() + PATIENCE);
    let read = shared.mesh.read(&plan, &context).await.map_err(Error::Resolve)?;
    let body: Json = serde_json::from_slice(&read.bytes).map_err(|_| WireError::internal())?;
    let found = body.pointer("/items/0").is_some();
    if found || sees_all { Ok(found) } else { Err(Error::Resolve(ResolveError::Busy).into()) }
}
