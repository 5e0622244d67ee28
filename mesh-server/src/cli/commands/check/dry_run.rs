//! Builds the optional parts of a server as `serve` would, to find faults that prevent its start.

use std::path::Path;

use mesh_plan::Mesh;

use crate::cli::failure::Failure;
use crate::cli::server::app_factory;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::database;
use crate::config::Config;

/// Returns the faults of the secret, the accounts, the store of files and the preloaded queries. Nothing is created or
/// changed.
pub(super) fn faults(config: &Config, source: &DataSource) -> Vec<String> {
    let secret = app_factory::secret(config);
    let accounts = match (&secret, &source.database) {
        (Ok(Some(secret)), Some(database)) => {
            let accounts = app_factory::integrity(config, secret, Some(database), None);
            database::block_on(accounts).unwrap_or_else(|error| Err(Failure::start(error))).map(drop)
        }
        _ => Ok(()),
    };
    let mesh = Mesh::builder(source.schema.clone()).limits(config.plan_limits()).build();
    let queries = match config.persisted.enabled {
        true => (mesh.map_err(Failure::start))
            .and_then(|mesh| app_factory::persisted(config, &mesh, None).map(drop)),
        false => Ok(()),
    };
    let tried = [secret.map(drop), accounts, store(config), queries];
    tried.into_iter().filter_map(Result::err).map(|failure| failure.fault().to_owned()).collect()
}

/// Checks the store of files. A missing folder is no fault, because `serve` creates it.
fn store(config: &Config) -> Result<(), Failure> {
    if !config.uploads.enabled {
        return Ok(());
    }
    match config.uploads.store.split_once(':') {
        Some(("file", folder)) if !folder.is_empty() && !Path::new(folder).exists() => Ok(()),
        _ => app_factory::uploads(config).map(drop),
    }
}
