//! The tools for agents.

use mesh_server::Mcp;

use crate::config::{Config, McpTools};

/// Returns the options of the tools for agents.
pub(crate) fn tools(config: &Config) -> Mcp {
    let mut tools = Mcp::default();
    tools.rows = tools.rows.min(config.limits.rows);
    tools.writes = config.mcp.enabled == McpTools::Writes;
    tools
}
