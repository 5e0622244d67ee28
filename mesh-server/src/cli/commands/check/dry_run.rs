//! What else keeps a server from starting? The parts that settings turn on, tried as `serve` would make them.

use std::path::Path;

use mesh_plan::Mesh;

use crate::cli::failure::Failure;
use crate::cli::server::app_factory;
use crate::cli::server::data_source::Source;
use crate::cli::server::database;
use crate::config::Config;

/// The faults of secret, accounts, store of files, and queries that are loaded at start. Nothing is made or changed.
pub(super) fn faults(config: &Config, source: &Source) -> Vec<String> {
    let secret = app_factory::secret(config);
    let accounts = match (&secret, &source.database) {
        (Ok(Some(secret)), Some(database)) => {
            let accounts = app_factory::integrity(config, secret, Some(database), None);
            database::waited(accounts).unwrap_or_else(|error| Err(Failure::start(error))).map(drop)
        }
        _ => Ok(()),
    };
    let mesh = || Mesh::builder(source.schema.clone()).limits(config.plan_limits()).build();
    let queries = match config.persisted.enabled {
        true => app_factory::persisted(config, &mesh(), None).map(drop),
        false => Ok(()),
    };
    let tried = [secret.map(drop), accounts, store(config), queries];
    tried.into_iter().filter_map(Result::err).map(|failure| failure.fault().to_owned()).collect()
}

/// Whether files can be stored; a folder that is not there yet is made by `serve`.
fn store(config: &Config) -> Result<(), Failure> {
    if !config.uploads.enabled {
        return Ok(());
    }
    match config.uploads.store.split_once(':') {
        Some(("file", folder)) if !folder.is_empty() && !Path::new(folder).exists() => Ok(()),
        _ => app_factory::uploads(config).map(drop),
    }
}
