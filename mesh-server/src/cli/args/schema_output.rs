//! What do commands take that write for tools: types, descriptions, completions?

use std::path::PathBuf;

use clap::Args;

use super::SourceArgs;
use crate::config::Flags;

/// What `types` takes.
#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    #[command(flatten)]
    pub(crate) described: DescribedArgs,
    /// Language to write
    #[arg(long, value_name = "LANGUAGE", default_value = "typescript", value_parser = ["typescript"])]
    pub(crate) lang: String,
}

/// What every command takes that writes down what a schema is for others.
#[derive(Debug, Args)]
pub(crate) struct DescribedArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Only what the policies of the schema show this role; '*' for all roles that they do not list
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl DescribedArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// What `completions` takes.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
