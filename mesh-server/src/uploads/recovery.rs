//! The search for a record that refers to a stored file, for recovery after a crash and for downloads of unpublished files.

use std::time::{Duration, Instant};

use mesh_plan::plan::Predicate;
use mesh_plan::{Context, Error, Mesh, Request, ResolveError};
use mesh_ql::build::{self, query};
use mesh_schema::Entity;
use mesh_uploads::{RecoveryReport, StorageKey, StoreError, SweepReport};
use mesh_wire::WireError;
use serde_json::Value as Json;

use super::Uploads;
use crate::App;

/// The time limit of the search for one record. The column may have no index.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(60);

impl App {
    /// Publishes or removes stored files that a crash left unpublished. Call it when a server starts, and regularly if
    /// several servers share a store. `SPEC §9.4`
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recover_uploads(&self) -> Result<RecoveryReport, StoreError> {
        let Some(uploads) = &self.shared.options.uploads else { return Ok(RecoveryReport::default()) };
        let recorded = |key| is_recorded(&self.shared.mesh, uploads, key);
        mesh_uploads::recover(&*uploads.store, recorded).await
    }

    /// Finds stored files older than `min_age` that no record refers to, regardless of policies, and removes them if
    /// `remove` is set. Uploads may continue meanwhile. Records that are not in the schema, and keys in columns that
    /// accept no files, are not considered.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn sweep_uploads(&self, min_age: Duration, remove: bool) -> Result<SweepReport, StoreError> {
        let Some(uploads) = &self.shared.options.uploads else { return Ok(SweepReport::default()) };
        let recorded = |key| is_recorded(&self.shared.mesh, uploads, key);
        mesh_uploads::sweep_orphans(&*uploads.store, (min_age, remove), recorded).await
    }
}

/// Returns whether a record refers to a key, including records that policies hide. If this cannot be decided, it
/// returns an error, and the file is kept.
pub(crate) async fn is_recorded(mesh: &Mesh, uploads: &Uploads, key: StorageKey) -> Result<bool, WireError> {
    let mut undecided = None;
    for (_, entity) in mesh.schema().entities() {
        for field in entity.fields.iter().filter(|field| field.upload.is_some()) {
            let answer = match uploads.handler_of(&entity.key, &field.name) {
                Some(handler) => handler.is_recorded(key).await,
                None => is_in_column(mesh, entity, &field.name, key).await,
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

async fn is_in_column(mesh: &Mesh, entity: &Entity, field: &str, key: StorageKey) -> Result<bool, WireError> {
    let query = query(entity.key.as_str())
        .field(field)
        .filter(build::field(field).eq(key.to_string()))
        .first(1)
        .build();
    let plan = mesh.plan_unrestricted(&Request::new(&query))?;
    // The query has one comparison. A policy would add other conditions.
    let sees_all = matches!(plan.node().filter, Some(Predicate::Compare { .. }));
    let context = Context::new("recovery").with_deadline(Instant::now() + SEARCH_TIMEOUT);
    let read = mesh.read(&plan, &context).await.map_err(Error::Resolve)?;
    let body: Json = serde_json::from_slice(&read.bytes).map_err(|_| WireError::internal())?;
    let found = body.pointer("/items/0").is_some();
    if found || sees_all { Ok(found) } else { Err(Error::Resolve(ResolveError::Busy).into()) }
}
