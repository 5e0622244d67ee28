//! Arguments of `files`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::shared::SourceArgs;
use crate::config::{Flags, parse};

/// Arguments of `files`.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Skip files that are younger than this, such as 1h or 7d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = parse::age)]
    pub(crate) older_than: Duration,
    /// Remove the listed files
    #[arg(long)]
    pub(crate) remove: bool,
}

impl FilesArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}
