//! Arguments that several commands have.

pub(super) mod query_text;
pub(crate) mod role;
mod schema_output;

use std::path::PathBuf;

use clap::Args;

pub(crate) use query_text::QueryTextArgs;
pub(crate) use role::RoleArgs;
pub(crate) use schema_output::SchemaOutputArgs;

use crate::cli::failure::Failure;
use crate::cli::server::data_source::DataSource;
use crate::cli::settings::load_config;
use crate::config::{Config, Flags};

/// The settings, the database and the schema.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Database to serve, such as sqlite:blog.db, postgres://user@host/db or mysql://user@host/db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Schema document; without one the schema is inferred from the database
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// PostgreSQL schemas to serve, separated by commas [default: the first of the search path]
    #[arg(long, value_name = "NAMES")]
    schemas: Option<String>,
}

impl SourceArgs {
    /// Returns the flags that are settings.
    pub(crate) fn flags(&self) -> Flags {
        collect_flags([("database", &self.database), ("schema", &self.schema), ("schemas", &self.schemas)])
    }

    /// Reads the settings, and opens the database and the schema.
    pub(crate) fn open(&self) -> Result<(Config, DataSource), Failure> {
        let config = load_config(self.flags(), self.config.as_deref())?;
        let source = DataSource::open(&config)?;
        Ok((config, source))
    }
}

/// The log.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Log filter: a level, or levels by target such as info,mesh_server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Format of log lines [default: pretty]
    #[arg(long, value_name = "FORMAT", value_parser = ["pretty", "json"])]
    log_format: Option<String>,
}

impl LogArgs {
    /// Returns the flags, all of which are settings.
    pub(crate) fn flags(&self) -> Flags {
        collect_flags([("log", &self.log), ("log_format", &self.log_format)])
    }
}

/// Returns the flags that were given, by the path of their setting.
pub(crate) fn collect_flags<const N: usize>(flags: [(&'static str, &Option<String>); N]) -> Flags {
    flags.into_iter().filter_map(|(path, text)| Some((path, text.clone()?))).collect()
}
