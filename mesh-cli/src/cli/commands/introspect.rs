//! `mesh-server introspect`: writes the schema document that is inferred from a database.

use std::path::PathBuf;

use clap::Args;
use mesh_backend::Contents;

use crate::cli::args::collect_flags;
use crate::cli::failure::Failure;
use crate::cli::output::{print_stderr, write};
use crate::cli::server::data_source::READING_MESSAGE;
use crate::cli::server::database::{block_on, connect};
use crate::cli::server::internal_tables::remove_internal_tables;
use crate::cli::settings::load_config;
use crate::cli::terminal::Spinner;
use crate::config::Flags;

/// Arguments of `introspect`.
#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database to read, such as sqlite:blog.db, postgres://user@host/db or mysql://user@host/db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// PostgreSQL schemas to read, separated by commas [default: the first of the search path]
    #[arg(long, value_name = "NAMES", alias = "schema")]
    schemas: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl IntrospectArgs {
    /// Returns the flags that are settings.
    pub(crate) fn flags(&self) -> Flags {
        collect_flags([("database", &self.database), ("schemas", &self.schemas)])
    }
}

pub(crate) fn run(args: &IntrospectArgs) -> Result<(), Failure> {
    let config = load_config(args.flags(), args.config.as_deref())?;
    let Some(url) = &config.database else {
        return Err(Failure::usage_error("no database to read: name one with --database"));
    };
    let spinner = Spinner::start(READING_MESSAGE);
    let Contents { mut catalog, mut notes } = block_on(async {
        let database = connect(url, &config).await?;
        Ok::<_, Failure>(database.contents(&[]).await?)
    })?;
    drop(spinner);
    remove_internal_tables(&config, &mut catalog, &mut notes);
    let inference = mesh_schema::infer(&catalog);
    notes.extend(inference.notes.iter().map(ToString::to_string));
    for note in &notes {
        print_stderr(format_args!("note: {note}"));
    }
    write(args.output.as_deref(), &(inference.document.to_json() + "\n"))
}
