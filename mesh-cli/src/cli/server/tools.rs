//! The tools for agents.

use mesh_server::Mcp;

use crate::config::{Config, McpTools};

/// Returns the options of the tools for agents.
pub(crate) fn tools(config: &Config) -> Mcp {
    let rows = Mcp::DEFAULT_ROWS.min(config.limits.rows);
    Mcp::new().rows(rows).writes(config.mcp.enabled == McpTools::Writes)
}
