//! The tools for agents.

use mesh_server::Mcp;

use crate::config::Config;

/// Returns the options of the tools for agents.
pub(crate) fn tools(config: &Config) -> Mcp {
    let settings = &config.mcp;
    Mcp::new().rows(settings.rows).bytes(settings.bytes).writes(settings.writes).sql(settings.sql)
}
