//! The state that outlives a server: ended sessions, used nonces, login attempts and registered queries.
//!
//! A server that verifies signatures needs its state: without it, ended sessions and used signatures would be accepted.

use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;

use mesh_integrity::{
    AttemptStore, NonceStore, NonceTable, RevocationStore, SessionId, SharedNonces, StoreError, unix_millis,
};
use mesh_plan::QueryStore;
use mesh_server::{Check, Health};
use mesh_sqlite::StateLimits;

use crate::cli::failure::{Failure, chain};
use crate::cli::server::database::Database;
use crate::cli::server::database_url::DatabaseUrl;
use crate::config::{Config, Store};

/// The stores of state that outlives a server.
#[derive(Clone)]
pub(crate) struct StateStores {
    /// Ended sessions.
    pub(crate) revocations: Arc<dyn RevocationStore>,
    /// Used nonces.
    pub(crate) nonces: Arc<dyn NonceStore>,
    /// The last timestamp whose nonces another process may have used, in milliseconds since the Unix epoch.
    pub(crate) unknown_until: u64,
    /// Registered queries.
    pub(crate) queries: Arc<dyn QueryStore>,
    /// Login attempts, if several servers count them together.
    pub(crate) attempts: Option<Arc<dyn AttemptStore>>,
}

impl StateStores {
    /// Uses one store for revocations, nonces and queries.
    pub(crate) async fn new(
        store: impl RevocationStore + NonceTable + QueryStore + Clone,
    ) -> Result<Self, StoreError> {
        let (nonces, unknown_until) = SharedNonces::open(store.clone()).await?;
        Ok(Self {
            revocations: Arc::new(store.clone()),
            nonces: Arc::new(nonces),
            unknown_until,
            queries: Arc::new(store),
            attempts: None,
        })
    }

    /// Uses one store for all state, login attempts included.
    pub(crate) async fn with_attempts(
        store: impl RevocationStore + NonceTable + QueryStore + AttemptStore + Clone,
    ) -> Result<Self, StoreError> {
        let attempts: Arc<dyn AttemptStore> = Arc::new(store.clone());
        Ok(Self { attempts: Some(attempts), ..Self::new(store).await? })
    }
}

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
    match stores(config, database).await {
        Ok(stores) => {
            if is_required {
                let revocations = Arc::clone(&stores.revocations);
                health.probe("state", move || Box::pin(check(Arc::clone(&revocations))));
            }
            Ok(Some(stores))
        }
        Err(Unusable { why, is_newer: true }) => Err(Failure::usage_error(why)),
        Err(Unusable { why, .. }) if is_required => Err(Failure::usage_error(format!(
            "{why}; with 'integrity.enabled' the server does not start without its state, because it would accept sessions \
             that have ended: make the state readable and writable, name another SQLite file with 'state.path', or set \
             'state.store' to \"memory\""
        ))),
        Err(Unusable { why, .. }) => {
            tracing::warn!("{why}; registered queries are kept in memory only");
            Ok(None)
        }
    }
}

/// The reason why the state cannot be used.
struct Unusable {
    why: String,
    is_newer: bool,
}

impl Unusable {
    fn new(error: &(dyn Error + 'static), is_newer: bool) -> Self {
        Self { why: chain(error), is_newer }
    }
}

async fn stores(config: &Config, database: Option<&Database>) -> Result<StateStores, Unusable> {
    let queries = config.persisted.max_entries;
    let opened = match database {
        Some(Database::Postgres(database)) => {
            let state = database.state(queries).await;
            StateStores::with_attempts(state.map_err(|error| Unusable::new(&error, error.is_newer_layout()))?)
                .await
        }
        Some(Database::MySql(database)) => {
            let state = database.state(queries).await;
            StateStores::with_attempts(state.map_err(|error| Unusable::new(&error, error.is_newer_layout()))?)
                .await
        }
        Some(Database::Sqlite(_)) | None => {
            let beside = || match DatabaseUrl::parse(config.database.as_deref()?) {
                Ok(DatabaseUrl::Sqlite(path)) => Some(mesh_sqlite::State::default_path(&path)),
                _ => None,
            };
            let Some(path) = config.state.path.clone().or_else(beside) else {
                let why = "there is no database to keep state in".to_owned();
                return Err(Unusable { why, is_newer: false });
            };
            let state = mesh_sqlite::State::open(&path, StateLimits { queries, ..StateLimits::default() });
            StateStores::new(state.map_err(|error| Unusable::new(&error, error.is_newer_layout()))?).await
        }
    };
    opened.map_err(|error| Unusable::new(&error, false))
}

/// Checks that sessions can be looked up. The cause goes to the log only, because it may name files and hosts.
async fn check(revocations: Arc<dyn RevocationStore>) -> Check {
    match revocations.is_revoked(SessionId([0; 16]), unix_millis(SystemTime::now())).await {
        Ok(_) => Check::Passed,
        Err(error) => {
            tracing::warn!("the state cannot be used: {}", chain(&error));
            Check::Failed("the state cannot be used; see the log".to_owned())
        }
    }
}
