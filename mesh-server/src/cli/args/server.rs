//! Arguments of commands that open a database or a server: `serve`, `demo`, `introspect`, `check`, `health`.

use std::path::PathBuf;

use clap::Args;

use super::shared::{LogArgs, SourceArgs, given};
use crate::config::Flags;

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Path that all routes are under; '' is the root [default: /mesh]
    #[arg(long, value_name = "PATH")]
    base: Option<String>,
    /// Threads that serve connections; 0 is one per core [default: 0]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Print the settings in effect, with their origins and without secrets, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Offer the playground at /docs
    #[arg(long)]
    docs: bool,
    /// Accept a playground without login, or with SQL, at an address that is not loopback
    #[arg(long)]
    pub(crate) allow_open_docs: bool,
    /// Offer write routes, for the writable fields of the schema document
    #[arg(long)]
    mutations: bool,
    #[command(flatten)]
    log: LogArgs,
}

impl ServeArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        let values = given([("listen", &self.listen), ("base", &self.base), ("threads", &self.threads)]);
        let switches = [("docs.enabled", self.docs), ("mutations.enabled", self.mutations)];
        let switches = switches.into_iter().filter(|(_, on)| *on).map(|(path, _)| (path, "true".to_owned()));
        values.chain(switches).chain(self.source.settings()).chain(self.log.settings()).collect()
    }
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Keep the sample data in this file, which is created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
}

impl DemoArgs {
    /// Returns the flags that are settings. The database is not one of them.
    pub(crate) fn settings(&self) -> Flags {
        given([("listen", &self.listen)]).chain(self.log.settings()).collect()
    }
}

/// Arguments of `introspect`.
#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// Database to read, such as sqlite:blog.db or postgres://user@host/db
    #[arg(long, value_name = "URL")]
    pub(crate) database: String,
    /// PostgreSQL schemas to read, separated by commas [default: the first of the search path]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) schema: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Print the statements that install change notifications in PostgreSQL, or run them with 'run'
    #[arg(long, value_name = "run", num_args = 0..=1, default_missing_value = "print", value_parser = ["print", "run"])]
    pub(crate) install_triggers: Option<String>,
}

impl CheckArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address of the server [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

impl HealthArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        given([("listen", &self.listen)]).collect()
    }
}
