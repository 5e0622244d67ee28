//! What does `files` take?

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::SourceArgs;
use crate::config::{Flags, age};

/// What `files` takes.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Leave files alone that came later than this ago
    #[arg(long, value_name = "TIME", default_value = "1d")]
    older_than: String,
    /// Remove what is listed
    #[arg(long)]
    pub(crate) remove: bool,
}

impl FilesArgs {
    /// The settings among the flags.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }

    /// How long a file must have been there.
    pub(crate) fn min_age(&self) -> Result<Duration, String> {
        age(&self.older_than).map_err(|why| format!("--older-than {why}"))
    }
}
