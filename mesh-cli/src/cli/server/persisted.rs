//! The registry of persisted queries, and the file of queries that are registered at start.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::backend::StateStores;
use mesh_plan::Mesh;
use mesh_plan::persisted::{ParamDeclarations, Persisted, PersistedQuery};
use mesh_server::{Mcp, regular_file};
use serde::Deserialize;

use crate::cli::failure::Failure;
use crate::config::Config;

/// Builds the registry of persisted queries, registers the queries of the configured file, and adds them to the tools for
/// agents.
pub(crate) fn persisted(
    config: &Config,
    tools: Mcp,
    mesh: &Mesh,
    state: Option<&StateStores>,
) -> Result<(Persisted, Mcp), Failure> {
    let settings = &config.persisted;
    let mut persisted = Persisted::new(config.registration())
        .require_registered(settings.only)
        .memory(settings.max_entries, Persisted::TEXT_BYTES);
    if let Some(state) = state {
        persisted = persisted.store(Arc::clone(&state.queries));
    }
    let tools = match &settings.preload {
        Some(path) => preload(&mut persisted, tools, mesh, path)?,
        None => tools,
    };
    Ok((persisted, tools))
}

/// A query of the file of preloaded queries.
#[derive(Deserialize)]
pub(crate) struct PreloadedQuery {
    query: String,
    format: Option<String>,
    params: Option<serde_json::Value>,
    /// The name of the query as a tool for agents.
    #[serde(default)]
    name: String,
    /// What the tool does.
    #[serde(default)]
    description: String,
}

/// Reads a file of queries.
pub(crate) fn preloaded_queries(path: &Path) -> Result<Vec<PreloadedQuery>, Failure> {
    let name = path.display();
    let text = regular_file::read_to_string(path)
        .map_err(|error| Failure::usage_error(format!("cannot read the queries in {name}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage_error(format!(
            "{name}: not an array of {{query, format?, params?, name?, description?}}: {error}"
        ))
    })
}

/// Registers the queries of a file, and adds them to the tools. Returns all faults if there are any.
fn preload(persisted: &mut Persisted, tools: Mcp, mesh: &Mesh, path: &Path) -> Result<Mcp, Failure> {
    let file = path.display();
    let mut tools = tools;
    let mut faults = Vec::new();
    for (number, preloaded) in (1..).zip(preloaded_queries(path)?) {
        let PreloadedQuery { query, format, params, name, description } = preloaded;
        let declared = params.map_or_else(
            || Ok(ParamDeclarations::default()),
            |it| ParamDeclarations::parse(&it.to_string()).map_err(|why| format!("'params': {why}")),
        );
        let id = match format.as_deref().unwrap_or("json").parse() {
            Ok(format) => declared.and_then(|declared| {
                let query = PersistedQuery::new(format, query).with_params(declared);
                let id = persisted.preload(mesh, query.clone()).map_err(|error| error.to_string())?;
                tools = std::mem::take(&mut tools).query(name, description, query);
                Ok(id)
            }),
            Err(_) => Err("'format' must be \"json\" or \"ql\"".to_owned()),
        };
        match id {
            Ok(id) => tracing::info!("{file}: query {number} is {id}"),
            Err(why) => faults.push(format!("{file}: query {number}: {why}")),
        }
    }
    if faults.is_empty() { Ok(tools) } else { Err(Failure::from_faults(faults)) }
}
