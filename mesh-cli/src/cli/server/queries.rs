//! The registry of persisted queries, the file of queries that are registered at start, and the tools for agents, which can
//! be such queries.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::backend::StateStores;
use mesh_plan::Mesh;
use mesh_plan::persisted::{ParamDeclarations, Persisted, PersistedQuery};
use mesh_server::{Mcp, QueryTool, regular_file};
use serde::Deserialize;

use crate::cli::failure::{Failure, WithContext as _};
use crate::config::{Config, McpTools};

/// Returns the registry of persisted queries, unless it is off, and the tools for agents. The queries of the configured file
/// are in both.
pub(crate) fn queries(
    config: &Config,
    mesh: &Mesh,
    state: Option<&StateStores>,
) -> Result<(Option<Persisted>, Mcp), Failure> {
    let settings = &config.persisted;
    let mut tools = Mcp { writes: config.mcp.enabled == McpTools::Writes, ..Mcp::default() };
    tools.rows = tools.rows.min(config.limits.rows);
    if !settings.enabled {
        return Ok((None, tools));
    }
    let mut persisted = Persisted::new(config.registration())
        .require_registered(settings.only)
        .memory(settings.max_entries, Persisted::TEXT_BYTES);
    if let Some(state) = state {
        persisted = persisted.store(Arc::clone(&state.queries));
    }
    if let Some(path) = &settings.preload {
        tools.queries = preload(&mut persisted, mesh, path)?;
    }
    Ok((Some(persisted), tools))
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
    let text = regular_file::read_to_string(path);
    let text = text.context(format_args!("cannot read the queries in {name}"))?;
    let form = "not an array of {query, format?, params?, name?, description?}";
    serde_json::from_str(&text).context(format_args!("{name}: {form}"))
}

/// Registers the queries of a file, and returns them as tools. Returns all faults if there are any.
fn preload(persisted: &mut Persisted, mesh: &Mesh, path: &Path) -> Result<Vec<QueryTool>, Failure> {
    let file = path.display();
    let (mut tools, mut faults) = (Vec::new(), Vec::new());
    for (number, preloaded) in (1..).zip(preloaded_queries(path)?) {
        let registered = preloaded.parse().and_then(|query| {
            let id = persisted.preload(mesh, query.clone()).map_err(|error| error.to_string())?;
            Ok((id, query))
        });
        match registered {
            Ok((id, query)) => {
                tracing::info!("{file}: query {number} is {id}");
                tools.push(QueryTool { name: preloaded.name, description: preloaded.description, query });
            }
            Err(why) => faults.push(format!("{file}: query {number}: {why}")),
        }
    }
    Failure::check(faults)?;
    Ok(tools)
}

impl PreloadedQuery {
    fn parse(&self) -> Result<PersistedQuery, String> {
        let format = self.format.as_deref().unwrap_or("json").parse();
        let format = format.map_err(|_| "'format' must be \"json\" or \"ql\"".to_owned())?;
        let params = match &self.params {
            Some(params) => ParamDeclarations::parse(&params.to_string()),
            None => Ok(ParamDeclarations::default()),
        };
        let params = params.map_err(|why| format!("'params': {why}"))?;
        Ok(PersistedQuery::new(format, self.query.clone()).with_params(params))
    }
}
