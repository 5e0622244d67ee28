//! The state that outlives a server: ended sessions, used nonces, login attempts and registered queries.
//!
//! A server that verifies signatures needs its state: without it, ended sessions and used signatures would be accepted.

use std::sync::Arc;
use std::time::SystemTime;

use mesh_backend::backend::StateStores;
use mesh_backend::error::{OpenError, with_causes};
use mesh_integrity::{RevocationStore, SessionId, unix_millis};
use mesh_server::{Check, Health};
use mesh_sqlite::StateLimits;

use crate::cli::failure::Failure;
use crate::cli::server::database::Database;
use crate::config::{Config, Store};

/// Opens the stores of the state, unless it is kept in memory. Without signatures, a state that cannot be used is replaced by
/// memory, with a warning.
///
/// # Errors
/// The state cannot be used, and signatures are verified or a newer server has written it.
pub(crate) async fn open(
    config: &Config,
    database: Option<&Database>,
    health: &Health,
) -> Result<Option<StateStores>, Failure> {
    let is_required = config.integrity.enabled;
    if config.state.store == Store::Memory || !(is_required || config.persisted.enabled) {
        return Ok(None);
    }
    let (why, is_newer) = match stores(config, database).await {
        Ok(Some(stores)) => {
            if is_required {
                let revocations = Arc::clone(&stores.revocations);
                health.probe("state", move || Box::pin(check(Arc::clone(&revocations))));
            }
            return Ok(Some(stores));
        }
        Ok(None) => ("there is no database to keep state in".to_owned(), false),
        Err(error) => (error.to_string(), error.is_newer_layout()),
    };
    if is_newer {
        return Err(Failure::usage_error(why));
    }
    if is_required {
        return Err(Failure::usage_error(format!(
            "{why}; with 'integrity.enabled' the server does not start without its state, because it would accept sessions \
             that have ended: make the state readable and writable, name another SQLite file with 'state.path', or set \
             'state.store' to \"memory\""
        )));
    }
    tracing::warn!("{why}; registered queries are kept in memory only");
    Ok(None)
}

/// Opens the stores in the database or, without one, in the file that the settings name.
async fn stores(config: &Config, database: Option<&Database>) -> Result<Option<StateStores>, OpenError> {
    let queries = config.persisted.max_entries;
    if let Some(database) = database {
        return database.stores(queries).await.map(Some);
    }
    let Some(path) = &config.state.path else { return Ok(None) };
    let state = mesh_sqlite::State::open(path, StateLimits { queries, ..StateLimits::default() })?;
    state.into_stores().await.map(Some)
}

/// Checks that sessions can be looked up. The cause goes to the log only, because it may name files and hosts.
async fn check(revocations: Arc<dyn RevocationStore>) -> Check {
    match revocations.is_revoked(SessionId([0; 16]), unix_millis(SystemTime::now())).await {
        Ok(_) => Check::Passed,
        Err(error) => {
            tracing::warn!("the state cannot be used: {}", with_causes(&error));
            Check::Failed("the state cannot be used; see the log".to_owned())
        }
    }
}
