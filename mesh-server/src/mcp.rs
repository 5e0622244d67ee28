//! Tools for agents over the Model Context Protocol: their definitions, and the parts of the protocol that do not
//! depend on a request.
//!
//! A tool call passes through the pipeline like any other request: [`crate::routes`] authenticates `POST {base}/mcp`
//! and runs the tools for the caller of the request. On standard input and output, [`crate::App::serve_mcp`] sends each
//! call to the application as such a request.

mod built_in;
pub(crate) mod handler;
mod query_tool;
mod stdio;

use std::sync::Arc;

use mesh_plan::Mesh;
use mesh_plan::persisted::PersistedQuery;
use mesh_wire::BasePath;
use rmcp::model::Tool;

use crate::app::build_error::BuildError;
pub(crate) use built_in::BuiltIn;
pub(crate) use query_tool::{ID, PreparedQuery};

/// The path segment of the route below the base path. No entity may have this key.
pub(crate) const SEGMENT: &str = "mcp";

/// The headers of the protocol. Web pages that may send requests may send these headers.
pub(crate) const HEADERS: [&str; 3] = ["Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version"];

/// Options of the tools for agents. The tools describe the schema, check, run and explain queries, and run registered queries.
///
/// ```
/// use mesh_plan::Mesh;
/// use mesh_plan::persisted::PersistedQuery;
/// use mesh_ql::Format;
/// use mesh_server::{App, Mcp, QueryTool};
///
/// # fn app(mesh: Mesh) -> Result<App, mesh_server::BuildError> {
/// let query = PersistedQuery::new(Format::Ql, "{ post title }");
/// let tool = QueryTool { name: "titles".to_owned(), description: "The titles of all posts".to_owned(), query };
/// let tools = Mcp { rows: 50, queries: vec![tool], ..Mcp::default() };
/// let mut app = App::builder(mesh);
/// app.options.mcp = Some(tools);
/// app.build()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Mcp {
    /// The maximum number of objects in a result, 200 by default. Larger results are refused, because a part could be mistaken for the whole.
    pub rows: usize,
    /// The maximum number of bytes of a result, 64 KiB by default.
    pub bytes: usize,
    /// Whether to offer a tool for writes, if the application has write routes.
    pub writes: bool,
    /// Whether explanations contain the SQL, which reveals tables and columns.
    pub sql: bool,
    /// The registered queries that are tools.
    pub queries: Vec<QueryTool>,
}

/// A registered query that is a tool, whose arguments are the parameters of the query.
#[derive(Clone, Debug)]
pub struct QueryTool {
    /// The name; if it is empty, it is derived from the query.
    pub name: String,
    /// What the tool does; if it is empty, the text of the query.
    pub description: String,
    /// The query.
    pub query: PersistedQuery,
}

impl Mcp {
    /// Prepares the tools for a schema.
    pub(crate) fn prepare(
        self,
        mesh: &Mesh,
        base: &BasePath,
        has_writes: bool,
    ) -> Result<PreparedTools, BuildError> {
        if mesh.schema().find(SEGMENT).is_some() {
            return Err(BuildError::EntityAtMcpPath);
        }
        let mut queries: Vec<PreparedQuery> = Vec::with_capacity(self.queries.len());
        for tool in &self.queries {
            let prepared = PreparedQuery::new(mesh, tool)?;
            let name = prepared.name();
            if BuiltIn::find(name).is_some() || queries.iter().any(|other| other.name() == name) {
                return Err(BuildError::RepeatedTool(name.to_owned()));
            }
            queries.push(prepared);
        }
        let path = path(base);
        let options = Self { writes: self.writes && has_writes, queries: Vec::new(), ..self };
        Ok(PreparedTools { options, path, queries })
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Self { rows: 200, bytes: 65_536, writes: false, sql: false, queries: Vec::new() }
    }
}

/// The tools of an application.
#[derive(Debug)]
pub(crate) struct PreparedTools {
    pub(crate) options: Mcp,
    pub(crate) path: String,
    pub(crate) queries: Vec<PreparedQuery>,
}

impl PreparedTools {
    /// Returns whether this is the path of the route.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        path.strip_suffix('/').unwrap_or(path) == self.path
    }

    /// Returns the built-in tools. If only registered queries may run, tools that take other queries are left out.
    pub(crate) fn built_in(&self, registered_only: bool) -> impl Iterator<Item = BuiltIn> {
        let writes = self.options.writes;
        BuiltIn::ALL.into_iter().filter(move |tool| match tool {
            BuiltIn::Describe => true,
            BuiltIn::Check | BuiltIn::Run | BuiltIn::Explain => !registered_only,
            BuiltIn::Write => writes,
        })
    }
}

/// Returns the path of the route.
pub(crate) fn path(base: &BasePath) -> String {
    format!("{base}/{SEGMENT}")
}

/// Creates a tool. `properties` are the arguments, and `required` the names of the mandatory ones.
fn tool(name: String, description: String, properties: serde_json::Value, required: &[String]) -> Tool {
    let schema = serde_json::json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description, Arc::new(schema))
}

#[cfg(test)]
mod tests;
