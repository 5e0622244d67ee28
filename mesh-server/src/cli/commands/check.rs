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
use crate::cli::settings::load;
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
    let file = args.source.config.as_deref();
    let (config, _) = load(args.source.flags(), file).map_err(|faults| found(&faults))?;
    let mut faults = Vec::new();
    if let Some((certificate, key)) = config.tls.files()
        && let Err(error) = Tls::open(certificate, key)
    {
        faults.push(format!("[tls]: {error}"));
    }
    let source = match DataSource::open_with_progress(&config) {
        Ok(source) => source,
        Err(mut more) => {
            more.append(&mut faults);
            return Err(found(&more));
        }
    };
    faults.extend(dry_run(&config, &source));
    if !faults.is_empty() {
        return Err(found(&faults));
    }
    for note in &source.notes {
        remark(format_args!("note: {note}"));
    }
    if let Some(how) = &args.install_triggers {
        let database =
            source.database.as_ref().ok_or_else(|| Failure::start("--install-triggers needs a database"))?;
        return match database.triggers(&source.schema, how == "run").map_err(Failure::start)? {
            Some(statements) => print(statements.trim_end()),
            None => print("-- SQLite needs no triggers: the server notices changes of the file"),
        };
    }
    let entities = counted(source.schema.entities().count(), "entity", "entities");
    let relations = source.schema.entities().map(|(_, entity)| entity.relations.len()).sum();
    print(format_args!("no faults: {entities}, {}", counted(relations, "relation", "relations")))
}

/// Builds the optional parts of a server as `serve` would, but creates and changes nothing. Returns the faults of the
/// secret, the accounts, the store of files and the preloaded queries.
fn dry_run(config: &Config, source: &DataSource) -> Vec<String> {
    let secret = app_factory::secret(config);
    let accounts = match (&secret, &source.database) {
        (Ok(Some(secret)), Some(database)) => {
            let accounts = app_factory::integrity(config, secret, Some(database), None);
            block_on(accounts).unwrap_or_else(|error| Err(Failure::start(error))).map(drop)
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
        Err(error) => Err(Failure::start(error)),
    };
    let results = [secret.map(drop), accounts, store, queries];
    results.into_iter().filter_map(Result::err).map(|failure| failure.fault().to_owned()).collect()
}

fn found(faults: &[String]) -> Failure {
    Failure::found(format!("{}\n{}", faults.join("\n"), counted(faults.len(), "fault", "faults")))
}

/// Formats a count with its noun.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
