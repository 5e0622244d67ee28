//! `mesh-server check`: reports all faults of configuration, schema and database.

use std::path::Path;

use clap::Args;
use mesh_plan::Mesh;
use mesh_server::{App, Tls};

use crate::cli::args::SourceArgs;
use crate::cli::commands::serve;
use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::{print, print_stderr};
use crate::cli::server::api_keys::api_keys;
use crate::cli::server::data_source::{OpenedParts, nothing_to_serve};
use crate::cli::server::database::block_on;
use crate::cli::server::internal_tables::served_internal_tables;
use crate::cli::server::queries::{preloaded_queries, queries};
use crate::cli::server::uploads::uploads;
use crate::cli::server::{app_factory, bearer, entity_settings};
use crate::cli::settings::load_with_faults;
use crate::config::{Config, LoadedConfig, McpTools};

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
    let settings = load_with_faults(args.source.flags(), args.source.config.as_deref());
    let settings = settings.map_err(|failure| faults_failure(&failure.faults))?;
    let config = &settings.partial;
    let mut faults: Vec<String> =
        settings.config.as_ref().err().into_iter().flatten().map(ToString::to_string).collect();
    let is_faulty = |path: &str| settings.faulty.contains(path);
    // If a setting has a fault, the database or document that it should name is unknown and cannot be checked.
    let names_nothing = config.database.is_none() && config.schema.is_none();
    let parts = if is_faulty("database") || is_faulty("schema") || !faults.is_empty() && names_nothing {
        OpenedParts::default()
    } else {
        OpenedParts::open(config, true)?
    };
    faults.extend(parts.faults.iter().cloned());
    let checks = dry_run(&settings, &parts);
    faults.extend(checks.into_iter().filter_map(Result::err).flat_map(|failure| failure.faults));
    let mut notes = parts.notes.clone();
    if ["bearer.jwks", "bearer.secret", "bearer.secret_file"].iter().all(|path| !is_faulty(path)) {
        match block_on(bearer::check(config)) {
            Ok(unused) => notes.extend(unused),
            Err(failure) => faults.extend(failure.faults),
        }
    }
    let Some(schema) = parts.schema.filter(|_| faults.is_empty()) else {
        return Err(faults_failure(&faults));
    };
    for note in &notes {
        print_stderr(format_args!("note: {note}"));
    }
    if let Some(warning) = nothing_to_serve(config, &schema) {
        print_stderr(format_args!("warning: {warning}"));
    }
    for warning in served_internal_tables(config, &schema) {
        print_stderr(format_args!("warning: {warning}"));
    }
    if let Err(failure) = serve::refuse_open_docs(config) {
        print_stderr(format_args!("note: {}", failure.faults.join("; ")));
    }
    if let Some(how) = &args.install_triggers {
        let database = parts
            .database
            .as_ref()
            .ok_or_else(|| Failure::usage_error("--install-triggers needs a database"))?;
        return match block_on(database.triggers(&schema, how == "run"))? {
            Some(statements) => print(statements.trim_end()),
            None => print("-- no triggers are needed: the server notices changes of this database by itself"),
        };
    }
    let entities = counted(schema.entities().count(), "entity", "entities");
    let relations = schema.entities().map(|(_, entity)| entity.relations.len()).sum();
    print(format_args!("no faults: {entities}, {}", counted(relations, "relation", "relations")))
}

/// Builds the optional parts of a server as `serve` would (the certificate, the secrets, the accounts, the store of files
/// and the preloaded queries), but creates and changes nothing.
fn dry_run(settings: &LoadedConfig, parts: &OpenedParts) -> Vec<Result<(), Failure>> {
    let config = &settings.partial;
    let are_sound = |paths: &[&str]| !paths.iter().any(|path| settings.faulty.contains(path));
    let mut checks = Vec::new();
    if let Some((certificate, key)) = config.tls.files() {
        checks.push(Tls::open(certificate, key).context("[tls]").map(drop));
    }
    if config.integrity.enabled {
        if are_sound(&["integrity.secret", "integrity.secret_file"]) {
            checks.push(app_factory::secret(config).map(drop));
        }
        checks.push(app_factory::previous_secrets(config).map(drop));
        // If the database could not be opened, that fault has been reported already.
        if parts.database.is_some() || config.database.is_none() && are_sound(&["database"]) {
            let accounts = app_factory::accounts(config, parts.database.as_ref());
            checks.push(block_on(accounts).map(drop));
        }
    }
    if let Some(database) = &parts.database {
        if let Some(name) = config.audit.table() {
            checks.push(block_on(database.audit_table(name)).map(drop));
        }
        checks.push(block_on(api_keys(config, Some(database))).map(drop));
    }
    match config.uploads.store.strip_prefix("file:") {
        _ if !config.uploads.enabled => {}
        // `serve` creates a missing folder.
        Some(folder) if !folder.is_empty() && !Path::new(folder).exists() => {}
        _ => checks.push(uploads(config).map(drop)),
    }
    if let Some(schema) = &parts.schema {
        checks.push(entity_settings::caching(config, schema).map(drop));
        if config.docs.enabled {
            checks.push(entity_settings::docs(config, schema).map(drop));
        }
    }
    match (&parts.schema, &config.persisted.preload) {
        _ if !config.persisted.enabled => {}
        (Some(schema), _) => {
            let mesh = Mesh::builder(schema.clone()).limits(config.plan_limits()).build();
            let mesh = mesh.map_err(Failure::from);
            checks.push(mesh.and_then(|mesh| check_queries(config, mesh)));
        }
        (None, Some(path)) => checks.push(preloaded_queries(path).map(drop)),
        (None, None) => {}
    }
    checks
}

/// Checks the registered queries, and the tools that are made from them.
fn check_queries(config: &Config, mesh: Mesh) -> Result<(), Failure> {
    let (_, tools) = queries(config, &mesh, None)?;
    if config.mcp.enabled != McpTools::Off {
        let mut app = App::builder(mesh);
        app.options.mcp = Some(tools);
        app.build().map_err(Failure::usage_error)?;
    }
    Ok(())
}

/// Returns a failure that lists the faults and their number.
fn faults_failure(faults: &[String]) -> Failure {
    Failure::check_failed(format!("{}\n{}", faults.join("\n"), counted(faults.len(), "fault", "faults")))
}

/// Formats a count with its noun.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
