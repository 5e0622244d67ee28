//! Arguments that several commands have.

use clap::Args;

/// The database and the schema.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Database to serve, such as sqlite:blog.db or postgres://user@host/db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Schema document; without one the schema is inferred from the database
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
}

impl SourceArgs {
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        given([("database", &self.database), ("schema", &self.schema)])
    }
}

/// The log.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Log filter: a level, or levels by target such as info,mesh_server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Format of log lines [default: pretty]
    #[arg(long, value_name = "FORMAT", value_parser = ["pretty", "json"])]
    log_format: Option<String>,
}

impl LogArgs {
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        given([("log", &self.log), ("log_format", &self.log_format)])
    }
}

/// Returns the flags that were given, by the path of their setting.
pub(super) fn given<const N: usize>(
    flags: [(&'static str, &Option<String>); N],
) -> impl Iterator<Item = (&'static str, String)> {
    flags.map(|(path, text)| Some((path, text.clone()?))).into_iter().flatten()
}
