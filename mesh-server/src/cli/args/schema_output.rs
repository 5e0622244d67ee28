//! Arguments of commands that write files for tools: `types`, `openapi`, `json-schema`, `completions`.

use std::path::PathBuf;

use clap::Args;

use super::shared::SourceArgs;
use crate::config::Flags;

/// Arguments of `types`.
#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    #[command(flatten)]
    pub(crate) output: SchemaOutputArgs,
    /// Language to write
    #[arg(long, value_name = "LANGUAGE", default_value = "typescript", value_parser = ["typescript"])]
    pub(crate) lang: String,
}

/// Arguments of every command that describes a schema.
#[derive(Debug, Args)]
pub(crate) struct SchemaOutputArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Describe only what the policies show to this role; '*' is any role that they do not list
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl SchemaOutputArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
