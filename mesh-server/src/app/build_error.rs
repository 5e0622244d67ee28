//! Errors of building an application.

use std::fmt;

use mesh_wire::BasePath;

/// The reason why an application cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Uploads are set, but no field of the schema accepts files.
    NoUploadField,
    /// The base path of the protocol's routes equals the path of the docs surface, or is below it.
    DocsAtBasePath(BasePath),
    /// The docs surface can show the data as another role sees it, which requires an audit log, but there is none.
    ViewAsWithoutAudit,
    /// The schema has an entity `mcp`, whose path is already used by the tools for agents.
    EntityAtMcpPath,
    /// The docs surface has the path of the tools for agents.
    DocsAtMcpPath(String),
    /// The name of a tool contains characters other than letters, digits, `_` and `-`, or is longer than 64 characters.
    ToolName(String),
    /// Two tools have this name.
    RepeatedTool(String),
    /// The query of a tool does not fit the schema.
    Tool {
        /// The name of the tool; empty if it is derived from the query.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Caching is set for an entity that the schema does not have.
    UnknownCachedEntity(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUploadField => f.write_str(
                "uploads are on, but no field of the schema takes files; declare fields under 'uploads'",
            ),
            Self::UnknownCachedEntity(key) => {
                write!(f, "caching is set for '{key}', which is not an entity of the schema")
            }
            Self::EntityAtMcpPath => f.write_str(
                "the schema has an entity 'mcp', which is the path of the tools for agents; rename it in the schema document",
            ),
            Self::DocsAtMcpPath(path) => {
                write!(f, "the docs surface has the path of the tools for agents, {path}; choose another path for it")
            }
            Self::ToolName(name) => {
                write!(f, "'{name}' cannot be the name of a tool; use up to 64 letters, digits, '_' and '-'")
            }
            Self::RepeatedTool(name) => write!(f, "two tools are named '{name}'; rename one of them"),
            Self::Tool { name, why } => write!(f, "the query of the tool '{name}': {why}"),
            Self::DocsAtBasePath(base) => {
                write!(f, "the docs surface is at the base path {base} or above it; choose another path for one of them")
            }
            Self::ViewAsWithoutAudit => f.write_str(
                "'view_as' of the docs surface requires an audit log, which records each use; set one",
            ),
        }
    }
}

impl std::error::Error for BuildError {}
