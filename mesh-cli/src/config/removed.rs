//! The names of former settings.

/// What is written in place of a former setting, by its path; nothing if its value is fixed.
const REMOVED: [(&str, &str); 39] = [
    ("audit.file", "write 'audit.store = \"file:PATH\"'"),
    ("audit.table", "write 'audit.store = \"table:NAME\"'"),
    ("body_timeout", ""),
    ("cache.plan_bytes", ""),
    ("cache.plans", ""),
    ("cache.statements", ""),
    ("caching.purge.interval", ""),
    ("export.at_once", "it follows from 'limits.requests'"),
    ("idle_timeout", ""),
    ("limits.aggregates", ""),
    ("limits.exports_per_address", "it follows from 'limits.requests'"),
    ("limits.filter_depth", ""),
    ("limits.filter_nodes", ""),
    ("limits.group_keys", ""),
    ("limits.in_values", ""),
    ("limits.invalid_credentials_per_minute", "it follows from 'limits.login_per_minute'"),
    ("limits.relations", ""),
    ("limits.unsent_bytes", ""),
    ("limits.unsent_bytes_per_address", ""),
    ("limits.uploads_per_address", ""),
    ("mcp.bytes", ""),
    ("mcp.rows", "'limits.rows' limits the results of tools, too"),
    ("mcp.sql", "`mesh-server explain` shows SQL"),
    ("mcp.writes", "write 'mcp.enabled = \"writes\"'"),
    ("mysql.connections", "write 'limits.database_connections'"),
    ("mysql.idle_timeout", ""),
    ("mysql.statements", ""),
    ("mysql.wait", "it follows from 'request_timeout'"),
    ("otlp.service", ""),
    ("pin_threads", ""),
    ("postgres.connections", "write 'limits.database_connections'"),
    ("postgres.idle_timeout", ""),
    ("postgres.lag", ""),
    ("postgres.listen_url", "write the URL as 'postgres.pooler'"),
    ("postgres.statements", ""),
    ("postgres.wait", "it follows from 'request_timeout'"),
    ("server_timing", ""),
    ("sqlite.mmap", "write '?mmap=false' after the path in 'database'"),
    ("uploads.link_ttl", "write '?links=false' after the URL in 'uploads.store' for '0s'"),
];

/// Returns the paths of all former settings.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    REMOVED.iter().map(|(path, _)| *path)
}

/// Returns what became of a former setting.
pub(super) fn explain(path: &str) -> Option<String> {
    let (_, instead) = REMOVED.iter().find(|(name, _)| *name == path)?;
    let instead = if instead.is_empty() { "its value is fixed" } else { instead };
    Some(format!("'{path}' is no longer a setting: {instead}"))
}
