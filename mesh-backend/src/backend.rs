//! A database of any engine.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mesh_integrity::{
    AttemptStore, NonceStore, NonceTable, RevocationStore, SharedNonces, StoreError, UsersTable,
};
use mesh_plan::backend::Usage;
use mesh_plan::persisted::QueryStore;
use mesh_plan::{BoxFuture, Changes, Mutator, Plan, ResolveError, Resolver};
use mesh_schema::{Schema, TableName};

use crate::Contents;
use crate::accounts::Accounts;
use crate::api_keys::{self, ApiKeys};
use crate::audit::AuditTable;
use crate::error::{BoxError, OpenError};
use crate::own_table::OwnTable;

/// The result of a call to a [`Backend`].
pub type Opening<'a, T> = BoxFuture<'a, Result<T, OpenError>>;
/// The result of a call to a [`Backend`] that concerns a plan.
pub type Examining<'a, T> = BoxFuture<'a, Result<T, ResolveError>>;

/// An open database of any engine: a resolver of all its entities, with everything that a server needs beside reads.
///
/// [`OpenError`] means that the database cannot be reached or read, or does not have what the call needs.
pub trait Backend: Resolver {
    /// Reads the catalog. `times` names tables and columns that hold times although their types do not show it
    /// ([`mesh_schema::Document::time_columns`]).
    fn contents<'a>(&'a self, times: &'a [(String, String)]) -> Opening<'a, Contents>;

    /// Returns notes about writes that the schema permits and the database would refuse, for example because the account lacks
    /// a privilege.
    fn refused_writes<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Vec<String>>;

    /// Opens the database for writing. A server opens it once.
    ///
    /// # Errors
    /// The database cannot be written.
    fn open_writer(&self) -> Result<Arc<dyn Mutator>, OpenError>;

    /// Returns a resolver and a mutator whose writes leave no trace in the database: they are rolled back, or change a copy in
    /// this folder, which each call renews.
    fn rehearsal<'a>(&'a self, folder: &'a Path) -> Opening<'a, (Arc<dyn Resolver>, Arc<dyn Mutator>)>;

    /// Returns a future that notifies `changes` of writes to the database. It never ends and has to be spawned.
    fn watch(&self, changes: Changes) -> BoxFuture<'static, ()>;

    /// Returns the statements that make the database report the changes of a schema's tables, and runs them if `install` is
    /// set; `None` if the changes are found without that.
    fn triggers<'a>(&'a self, _schema: &'a Schema, _install: bool) -> Opening<'a, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns a note if the database reports the changes of only some tables of a schema.
    fn trigger_note<'a>(&'a self, _schema: &'a Schema) -> Opening<'a, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the accounts stored in a table.
    fn accounts<'a>(&'a self, users: &'a UsersTable) -> Opening<'a, Accounts>;

    /// Finds a table that Mesh uses itself, which may be missing.
    fn own_table<'a>(&'a self, name: &'a str) -> Opening<'a, OwnTable>;

    /// Adds the name of the database to the cause of a failure.
    fn open_error(&self, cause: BoxError) -> OpenError;

    /// Runs work, and adds the name of the database to its error.
    fn opening<'a, T>(&'a self, work: impl Future<Output = Result<T, BoxError>> + Send + 'a) -> Opening<'a, T>
    where
        Self: Sized,
    {
        Box::pin(async move { work.await.map_err(|error| self.open_error(error)) })
    }

    /// Returns the API keys stored in a table.
    fn api_keys<'a>(&'a self, table: &'a str) -> Opening<'a, ApiKeys> {
        Box::pin(async move {
            let keys = ApiKeys::open(self.own_table(table).await?);
            keys.map_err(|error| self.open_error(error.into()))
        })
    }

    /// Creates a table of API keys unless a table with this name exists.
    fn create_api_keys_table<'a>(&'a self, table: &'a str) -> Opening<'a, ()> {
        Box::pin(async move {
            let created = api_keys::create(&self.own_table(table).await?).await;
            created.map_err(|error| self.open_error(error.into()))
        })
    }

    /// Returns the table of audit entries.
    fn audit_table<'a>(&'a self, table: &'a str) -> Opening<'a, AuditTable> {
        Box::pin(async move {
            let table = AuditTable::open(self.own_table(table).await?);
            table.map_err(|error| self.open_error(error.into()))
        })
    }

    /// Opens the stores of the state, and creates or migrates them. At most `queries` persisted queries are kept; the oldest
    /// are deleted.
    fn stores(&self, queries: usize) -> Opening<'_, StateStores>;

    /// Checks that the database responds. The check succeeds if all connections are in use.
    fn ping(&self) -> Opening<'_, ()>;

    /// Returns usage figures of the connections for reads and of the caches.
    fn usage(&self) -> Usage;

    /// Returns whether reads are answered while the primary does not respond.
    fn answers_without_primary(&self) -> bool {
        false
    }

    /// Returns the statements of a plan, each with its query plan, one line for each step.
    fn query_plan<'a>(&'a self, plan: &'a Plan) -> Examining<'a, Vec<(String, Vec<String>)>>;

    /// Returns whether each level of a plan has statements of its own, as in SQLite.
    fn reads_by_level(&self) -> bool {
        false
    }

    /// Checks the bound on sorting by values of related records ([`Plan::related_sort_rows`]), as every read does.
    fn check_sorts<'a>(&'a self, plan: &'a Plan) -> Examining<'a, ()>;

    /// Returns whether an index of a table begins with these columns in any order, or `None` for a view.
    fn has_index<'a>(&'a self, table: &'a TableName, columns: &'a [String]) -> Examining<'a, Option<bool>>;

    /// Returns the number of rows of a table, counted up to `max`; `None` for a view, or if the engine does not count rows.
    fn row_count<'a>(&'a self, _table: &'a TableName, _max: u64) -> Examining<'a, Option<u64>> {
        Box::pin(async { Ok(None) })
    }
}

/// The stores of state that outlives a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct StateStores {
    /// Ended sessions.
    pub revocations: Arc<dyn RevocationStore>,
    /// Used nonces.
    pub nonces: Arc<dyn NonceStore>,
    /// The last timestamp whose nonces another process may have used, in milliseconds since the Unix epoch.
    pub unknown_until: u64,
    /// Registered queries.
    pub queries: Arc<dyn QueryStore>,
    /// Login attempts, if several servers count them together.
    pub attempts: Option<Arc<dyn AttemptStore>>,
}

impl StateStores {
    /// Uses one store for revocations, nonces and queries.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn new(
        store: impl RevocationStore + NonceTable + QueryStore + Clone,
        attempts: Option<Arc<dyn AttemptStore>>,
    ) -> Result<Self, StoreError> {
        let (nonces, unknown_until) = SharedNonces::open(store.clone()).await?;
        Ok(Self {
            revocations: Arc::new(store.clone()),
            nonces: Arc::new(nonces),
            unknown_until,
            queries: Arc::new(store),
            attempts,
        })
    }
}

impl fmt::Debug for StateStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateStores").field("unknown_until", &self.unknown_until).finish_non_exhaustive()
    }
}
