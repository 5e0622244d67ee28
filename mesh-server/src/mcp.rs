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

use mesh_plan::backend::Cache;
use mesh_plan::persisted::PersistedQuery;
use mesh_plan::{Mesh, Principal, Request};
use mesh_wire::BasePath;
use rmcp::model::Tool;

use crate::app::build_error::BuildError;
pub(crate) use built_in::BuiltIn;
pub(crate) use query_tool::{ID, PreparedQuery};

/// The path segment of the route below the base path. No entity may have this key.
pub(crate) const SEGMENT: &str = "mcp";

/// The number of policy classes whose visible queries are kept.
const CLASSES: usize = 256;

/// The headers of the protocol. Web pages that may send requests may send these headers.
pub(crate) const HEADERS: [&str; 3] = ["Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version"];

/// Options of the tools for agents. The tools describe the schema, check, run and explain queries, and run registered queries.
///
/// ```
/// use mesh_plan::Mesh;
/// use mesh_plan::persisted::PersistedQuery;
/// use mesh_ql::Format;
/// use mesh_server::{App, Mcp};
///
/// # fn app(mesh: Mesh) -> Result<App, mesh_server::BuildError> {
/// let query = PersistedQuery::new(Format::Ql, "{ post title }");
/// let tools = Mcp::new().rows(50).query("titles", "The titles of all posts", query);
/// App::builder(mesh).mcp(tools).build()
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Mcp {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    pub(crate) writes: bool,
    pub(crate) sql: bool,
    queries: Vec<QueryTool>,
}

/// A registered query that is a tool.
#[derive(Clone, Debug)]
struct QueryTool {
    name: String,
    description: String,
    query: PersistedQuery,
}

impl Mcp {
    /// The default maximum number of objects in a result.
    pub const DEFAULT_ROWS: usize = 200;
    /// The default maximum number of bytes of a result.
    pub const DEFAULT_BYTES: usize = 65_536;

    /// Creates the default options, with tools that only read.
    pub fn new() -> Self {
        let (rows, bytes) = (Self::DEFAULT_ROWS, Self::DEFAULT_BYTES);
        Self { rows, bytes, writes: false, sql: false, queries: Vec::new() }
    }

    /// Sets the maximum number of objects in a result. Larger results are refused, because a part could be mistaken for
    /// the whole.
    pub fn rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    /// Sets the maximum number of bytes of a result.
    pub fn bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sets whether to offer a tool for writes, if the application has write routes.
    pub fn writes(self, on: bool) -> Self {
        Self { writes: on, ..self }
    }

    /// Sets whether explanations contain the SQL, which reveals tables and columns.
    pub fn sql(self, on: bool) -> Self {
        Self { sql: on, ..self }
    }

    /// Adds a query as a tool whose arguments are the parameters of the query. If `name` is empty, it is derived from
    /// the query; if `description` is empty, it contains the text of the query.
    pub fn query(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        query: PersistedQuery,
    ) -> Self {
        self.queries.push(QueryTool { name: name.into(), description: description.into(), query });
        self
    }

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
        let path = format!("{base}/{SEGMENT}");
        let options = Self { writes: self.writes && has_writes, queries: Vec::new(), ..self };
        Ok(PreparedTools { options, path, queries, visible: Cache::new(CLASSES) })
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Self::new()
    }
}

/// The tools of an application.
#[derive(Debug)]
pub(crate) struct PreparedTools {
    pub(crate) options: Mcp,
    pub(crate) path: String,
    queries: Vec<PreparedQuery>,
    /// Whether each query is visible, by policy class.
    visible: Cache<Box<str>, Arc<[bool]>>,
}

impl PreparedTools {
    /// Returns whether this is the path of the route.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        path.strip_suffix('/').unwrap_or(path) == self.path
    }

    /// Returns the queries that a principal could have registered. Other queries are hidden from it. `SPEC §8.4`
    pub(crate) fn queries(&self, mesh: &Mesh, principal: Option<&Principal>) -> Vec<&PreparedQuery> {
        let visible = self.visible(mesh, principal);
        let queries = self.queries.iter().zip(visible.iter());
        queries.filter_map(|(query, is_visible)| is_visible.then_some(query)).collect()
    }

    fn visible(&self, mesh: &Mesh, principal: Option<&Principal>) -> Arc<[bool]> {
        let class = mesh.policy_class(principal);
        if let Some(visible) = self.visible.get(&*class) {
            return visible;
        }
        let is_visible = |PreparedQuery { query, .. }: &PreparedQuery| {
            let request = Request::collection(query.format(), query.text()).with_principal(principal);
            mesh.check(&request).is_ok()
        };
        let visible: Arc<[bool]> = self.queries.iter().map(is_visible).collect();
        self.visible.insert(class, Arc::clone(&visible), 1);
        visible
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
