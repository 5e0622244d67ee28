//! `mesh-server introspect`: writes the schema document that is inferred from a database.

use std::path::PathBuf;

use clap::Args;

use crate::cli::failure::Failure;
use crate::cli::output::{print_stderr, write};
use crate::cli::server::data_source::OPENING_MESSAGE;
use crate::cli::server::database::Database;
use crate::cli::server::database_url::DatabaseUrl;
use crate::cli::terminal::Spinner;
use crate::config::Config;

/// Arguments of `introspect`.
#[derive(Debug, Args)]
pub(crate) struct IntrospectArgs {
    /// Database to read, such as sqlite:blog.db, postgres://user@host/db or mysql://user@host/db
    #[arg(long, value_name = "URL")]
    database: String,
    /// PostgreSQL schemas to read, separated by commas [default: the first of the search path]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    schemas: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &IntrospectArgs) -> Result<(), Failure> {
    if !args.schemas.is_empty() {
        match DatabaseUrl::parse(&args.database) {
            Ok(DatabaseUrl::Sqlite(_)) => {
                let message = "--schemas applies only to PostgreSQL, not to SQLite";
                return Err(Failure::usage_error(message));
            }
            Ok(DatabaseUrl::MySql(_)) => {
                let message = "--schemas applies only to PostgreSQL, not to MySQL or MariaDB";
                return Err(Failure::usage_error(message));
            }
            Ok(DatabaseUrl::Postgres(_)) | Err(_) => {}
        }
    }
    let mut notes = Vec::new();
    let config = Config { schemas: args.schemas.clone(), ..Config::default() };
    let spinner = Spinner::start(OPENING_MESSAGE);
    let (_, catalog) = Database::open(&args.database, &config, Vec::new(), &mut notes)?;
    drop(spinner);
    let inference = mesh_schema::infer(&catalog);
    notes.extend(inference.notes.iter().map(ToString::to_string));
    for note in &notes {
        print_stderr(format_args!("note: {note}"));
    }
    write(args.output.as_deref(), &(inference.document.to_json() + "\n"))
}
