//! What a server needs of the file beside reads. Work that may take long runs on a thread that may block.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::Contents;
use mesh_backend::accounts::Accounts;
use mesh_backend::backend::{Backend, Examining, Opening, StateStores};
use mesh_backend::error::BoxError;
use mesh_backend::own_table::OwnTable;
use mesh_integrity::UsersTable;
use mesh_plan::backend::Usage;
use mesh_plan::{BoxFuture, Changes, Mutator, Plan, ResolveError, Resolver};
use mesh_schema::{Schema, TableName};
use mesh_sql::sqlite::Statements;

use crate::accounts;
use crate::catalog::indexes;
use crate::changes;
use crate::database::Database;
use crate::error::{OpenError, open_error};
use crate::pool::{Reader, connect};
use crate::read::{self, failed};
use crate::state::{State, StateLimits};
use crate::tables;
use crate::write::probe;

impl Database {
    /// Runs work on a thread that may block, and adds the path of the file to its error.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, BoxError> + Send + 'static,
    ) -> Opening<'_, T> {
        let database = self.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&database))
                .await
                .unwrap_or_else(|error| Err(error.into()));
            done.map_err(|cause| self.open_error(cause))
        })
    }

    /// Runs short work on a connection.
    fn examining<'a, T: Send>(
        &'a self,
        work: impl FnOnce(&Reader) -> Result<T, ResolveError> + Send + 'a,
    ) -> Examining<'a, T> {
        Box::pin(async move {
            let pool = &self.file.current()?.pool;
            let reader = pool.take().map_err(failed)?;
            let done = work(&reader);
            pool.release(reader);
            done
        })
    }
}

impl Backend for Database {
    fn contents<'a>(&'a self, times: &'a [(String, String)]) -> Opening<'a, Contents> {
        let times = times.to_vec();
        self.blocking(move |database| Ok(database.contents(&times)?))
    }

    fn refused_writes<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Vec<String>> {
        let schema = schema.clone();
        self.blocking(move |database| Ok(probe::refused_writes(database, &schema)?))
    }

    fn open_writer(&self) -> Result<Arc<dyn Mutator>, OpenError> {
        Ok(Arc::new(self.writer()?))
    }

    /// Copies the file as it is at the first call. Other programs can write meanwhile.
    fn rehearsal<'a>(&'a self, folder: &'a Path) -> Opening<'a, (Arc<dyn Resolver>, Arc<dyn Mutator>)> {
        let (original, copy) = (folder.join("original.db"), folder.join("copy.db"));
        self.blocking(move |database| {
            if !original.exists() {
                let copied = connect(&database.path())
                    .and_then(|from| from.execute("VACUUM INTO ?", [original.to_string_lossy()]));
                copied.map_err(|error| format!("it cannot be copied: {error}"))?;
            }
            for file in ["copy.db", "copy.db-wal", "copy.db-shm"] {
                // The file does not exist before the first write.
                let _ = std::fs::remove_file(copy.with_file_name(file));
            }
            std::fs::copy(&original, &copy).map_err(|error| format!("it cannot be copied: {error}"))?;
            let copy = Self::open(&copy)?;
            let writer = copy.writer()?;
            Ok((Arc::new(copy) as _, Arc::new(writer) as _))
        })
    }

    /// Notices changes within a fraction of a second. Polls only while there are listeners.
    fn watch(&self, changes: Changes) -> BoxFuture<'static, ()> {
        // Read before there are listeners, so that every later write is noticed.
        let version = changes::version(&self.file).ok();
        Box::pin(changes::watch(Arc::clone(&self.file), version, changes))
    }

    fn accounts<'a>(&'a self, users: &'a UsersTable) -> Opening<'a, Accounts> {
        let users = users.clone();
        self.blocking(move |database| accounts::open(database, &users))
    }

    fn own_table<'a>(&'a self, name: &'a str) -> Opening<'a, OwnTable> {
        let name = name.to_owned();
        self.blocking(move |database| Ok(tables::own_table(database, &name)?))
    }

    fn open_error(&self, cause: BoxError) -> OpenError {
        open_error(&self.path(), cause)
    }

    /// Opens a state file.
    fn stores(&self, queries: usize) -> Opening<'_, StateStores> {
        Box::pin(async move {
            let file = &self.file.last().pool.settings.state;
            let file = file.clone().unwrap_or_else(|| State::default_path(&self.path()));
            State::open(&file, StateLimits { queries, ..StateLimits::default() })?.into_stores().await
        })
    }

    /// Checks on a new connection that the file exists and can be read.
    fn ping(&self) -> Opening<'_, ()> {
        self.blocking(|database| {
            Self::open(database.path())?;
            Ok(())
        })
    }

    fn usage(&self) -> Usage {
        let file = self.file.last();
        let mut usage = file.pool.usage();
        file.cache.add_usage(&mut usage);
        usage
    }

    fn query_plan<'a>(&'a self, plan: &'a Plan) -> Examining<'a, Vec<(String, Vec<String>)>> {
        self.examining(|reader| {
            read::query_plan(&reader.connection, &Statements::from_plan(plan)).map_err(failed)
        })
    }

    fn reads_by_level(&self) -> bool {
        true
    }

    fn check_sorts<'a>(&'a self, plan: &'a Plan) -> Examining<'a, ()> {
        self.examining(|reader| reader.lower(plan).map(drop))
    }

    fn has_index<'a>(&'a self, table: &'a TableName, columns: &'a [String]) -> Examining<'a, Option<bool>> {
        self.examining(|reader| indexes::has_index(&reader.connection, table, columns).map_err(failed))
    }

    fn row_count<'a>(&'a self, table: &'a TableName, max: u64) -> Examining<'a, Option<u64>> {
        self.examining(move |reader| read::row_count(&reader.connection, table, max).map_err(failed))
    }
}
