//! `mesh-server check`: reports all faults of configuration, schema and database.

use std::path::Path;

use clap::Args;
use mesh_plan::Mesh;
use mesh_server::Tls;

use crate::cli::args::SourceArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{print, remark};
use crate::cli::server::app_factory;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::database::block_on;
use crate::cli::settings::settings;
use crate::config::Config;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Print the statements that install change notifications in PostgreSQL, or run them with 'run'
    #[arg(long, value_name = "run", num_args = 0..=1, default_missing_value = "print", value_parser = ["print", "run"])]
    install_triggers: Option<String>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let settings = settings(args.source.flags(), args.source.config.as_deref());
    let config = settings.map_err(|failure| found(&failure.faults))?;
    let tls = config.tls.files().map_or(Ok(()), |(certificate, key)| {
        Tls::open(certificate, key).map(drop).map_err(|error| Failure::start(format!("[tls]: {error}")))
    });
    let (source, checks) = match DataSource::open_with_progress(&config) {
        Ok(source) => {
            let checks = dry_run(&config, &source);
            (Some(source), checks)
        }
        Err(failure) => (None, vec![Err(failure)]),
    };
    let failures = checks.into_iter().chain([tls]).filter_map(Result::err);
    let faults: Vec<String> = failures.flat_map(|failure| failure.faults).collect();
    let Some(source) = source.filter(|_| faults.is_empty()) else { return Err(found(&faults)) };
    for note in &source.notes {
        remark(format_args!("note: {note}"));
    }
    if let Some(how) = &args.install_triggers {
        let database =
            source.database.as_ref().ok_or_else(|| Failure::start("--install-triggers needs a database"))?;
        return match database.triggers(&source.schema, how == "run")? {
            Some(statements) => print(statements.trim_end()),
            None => print("-- SQLite needs no triggers: the server notices changes of the file"),
        };
    }
    let entities = counted(source.schema.entities().count(), "entity", "entities");
    let relations = source.schema.entities().map(|(_, entity)| entity.relations.len()).sum();
    print(format_args!("no faults: {entities}, {}", counted(relations, "relation", "relations")))
}

/// Builds the optional parts of a server as `serve` would, but creates and changes nothing: the secret, the accounts, the
/// store of files and the preloaded queries.
fn dry_run(config: &Config, source: &DataSource) -> Vec<Result<(), Failure>> {
    let secret = app_factory::secret(config);
    let accounts = match (&secret, &source.database) {
        (Ok(Some(secret)), Some(database)) => {
            let accounts = app_factory::integrity(config, secret, Some(database), None);
            block_on(accounts).unwrap_or_else(|error| Err(error.into())).map(drop)
        }
        _ => Ok(()),
    };
    let store = match config.uploads.store.strip_prefix("file:") {
        _ if !config.uploads.enabled => Ok(()),
        // `serve` creates a missing folder.
        Some(folder) if !folder.is_empty() && !Path::new(folder).exists() => Ok(()),
        _ => app_factory::uploads(config).map(drop),
    };
    let mesh = Mesh::builder(source.schema.clone()).limits(config.plan_limits()).build();
    let queries = match mesh {
        _ if !config.persisted.enabled => Ok(()),
        Ok(mesh) => app_factory::persisted(config, &mesh, None).map(drop),
        Err(error) => Err(error.into()),
    };
    vec![secret.map(drop), accounts, store, queries]
}

/// Returns the faults as the result of the check.
fn found(faults: &[String]) -> Failure {
    Failure::found(format!("{}\n{}", faults.join("\n"), counted(faults.len(), "fault", "faults")))
}

/// Formats a count with its noun.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
