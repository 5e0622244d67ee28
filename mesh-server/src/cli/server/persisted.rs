//! The registry of persisted queries, and the file of those that are registered at start.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mesh_plan::{Mesh, ParamDeclarations, Persisted, PersistedQuery};
use mesh_ql::Format;
use serde::Deserialize;

use crate::cli::failure::Failure;
use crate::cli::server::database::State;
use crate::config::Config;

/// Builds the registry of persisted queries, with those of the configured file.
pub(crate) fn persisted(config: &Config, mesh: &Mesh, state: Option<&State>) -> Result<Persisted, Failure> {
    let settings = &config.persisted;
    let mut persisted = Persisted::new(config.registration())
        .only(settings.only)
        .memory(settings.max_entries, Persisted::TEXT_BYTES);
    if let Some(state) = state {
        persisted = persisted.store(Arc::clone(&state.queries));
    }
    if let Some(path) = &settings.preload {
        preload(&mut persisted, mesh, path)?;
    }
    Ok(persisted)
}

/// A query of the file of preloaded queries.
#[derive(Deserialize)]
pub(crate) struct PreloadedQuery {
    query: String,
    format: Option<String>,
    params: Option<serde_json::Value>,
}

/// Reads a file of queries.
pub(crate) fn preloaded_queries(path: &Path) -> Result<Vec<PreloadedQuery>, Failure> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::start(format!("cannot read the queries in {name}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::start(format!("{name}: not an array of {{query, format?, params?}}: {error}"))
    })
}

/// Registers the queries of a file, or returns all faults of them.
fn preload(persisted: &mut Persisted, mesh: &Mesh, path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let mut faults = Vec::new();
    for (number, PreloadedQuery { query, format, params }) in (1..).zip(preloaded_queries(path)?) {
        let declared = params.map_or_else(
            || Ok(ParamDeclarations::default()),
            |it| ParamDeclarations::parse(&it.to_string()).map_err(|why| format!("'params': {why}")),
        );
        let id = match Format::parse(format.as_deref().unwrap_or("json")) {
            Some(format) => declared.and_then(|declared| {
                let query = PersistedQuery::new(format, query).with_params(declared);
                let preloaded = persisted.preload(mesh, query);
                preloaded.map_err(|error| error.to_string())
            }),
            None => Err("'format' must be \"json\" or \"ql\"".to_owned()),
        };
        match id {
            Ok(id) => tracing::info!("{name}: query {number} is {id}"),
            Err(why) => faults.push(format!("{name}: query {number}: {why}")),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::faults(faults)) }
}
