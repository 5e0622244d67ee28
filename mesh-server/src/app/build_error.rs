//! Errors of building an application.

use mesh_wire::BasePath;

/// The reason why an application cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Uploads are set, but no field of the schema accepts files.
    #[error("uploads are on, but no field of the schema takes files; declare fields under 'uploads'")]
    NoUploadField,
    /// The base path of the protocol's routes equals the path of the docs surface, or is below it.
    #[error("the docs surface is at the base path {0} or above it; choose another path for one of them")]
    DocsAtBasePath(BasePath),
    /// The docs surface can show the data as another role sees it, which requires an audit log, but there is none.
    #[error("'view_as' of the docs surface requires an audit log, which records each use; set one")]
    ViewAsWithoutAudit,
    /// The schema has an entity `mcp`, whose path is already used by the tools for agents.
    #[error(
        "the schema has an entity 'mcp', which is the path of the tools for agents; rename it in the schema document"
    )]
    EntityAtMcpPath,
    /// The docs surface has the path of the tools for agents.
    #[error("the docs surface has the path of the tools for agents, {0}; choose another path for it")]
    DocsAtMcpPath(String),
    /// The name of a tool contains characters other than letters, digits, `_` and `-`, or is longer than 64 characters.
    #[error("'{0}' cannot be the name of a tool; use up to 64 letters, digits, '_' and '-'")]
    ToolName(String),
    /// Two tools have this name.
    #[error("two tools are named '{0}'; rename one of them")]
    RepeatedTool(String),
    /// The query of a tool does not fit the schema.
    #[error("the query of the tool '{name}': {why}")]
    Tool {
        /// The name of the tool; empty if it is derived from the query.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Caching is set for an entity that the schema does not have.
    #[error("caching is set for '{0}', which is not an entity of the schema")]
    UnknownCachedEntity(String),
}
