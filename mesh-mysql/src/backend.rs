//! What a server needs of the database beside reads.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::Contents;
use mesh_backend::accounts::Accounts;
use mesh_backend::api_keys::ApiKeys;
use mesh_backend::audit::AuditTable;
use mesh_backend::backend::{Backend, Examining, Opening, StateStores};
use mesh_integrity::UsersTable;
use mesh_plan::backend::Usage;
use mesh_plan::{BoxFuture, Changes, Mutator, Plan, Resolver};
use mesh_schema::{Schema, TableName};

use crate::accounts::{self, api_keys};
use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::PoolError;
use crate::write::{audit, probe};
use crate::{catalog, changes, read, state};

impl Database {
    /// Adds the name of the database to the error of some work.
    fn opening<'a, T>(
        &'a self,
        work: impl Future<Output = Result<T, BoxError>> + Send + 'a,
    ) -> Opening<'a, T> {
        Box::pin(async move { work.await.map_err(|error| self.open_error(error)) })
    }
}

impl Backend for Database {
    fn contents<'a>(&'a self, times: &'a [(String, String)]) -> Opening<'a, Contents> {
        Box::pin(self.contents(times))
    }

    fn refused_writes<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Vec<String>> {
        self.opening(probe::refused_writes(self, schema))
    }

    fn open_writer(&self) -> Result<Arc<dyn Mutator>, OpenError> {
        Ok(Arc::new(self.writer()))
    }

    /// Rolls writes back.
    fn rehearsal<'a>(&'a self, _folder: &'a Path) -> Opening<'a, (Arc<dyn Resolver>, Arc<dyn Mutator>)> {
        self.opening(async { Ok((Arc::new(self.clone()) as _, Arc::new(self.discarding_writer()) as _)) })
    }

    /// Polls only while there are listeners.
    fn watch(&self, changes: Changes) -> BoxFuture<'static, ()> {
        // Connections for writes use one server, while those for reads use all servers of a cluster, whose times
        // differ.
        Box::pin(changes::watch(Arc::clone(&self.writes), changes))
    }

    fn accounts<'a>(&'a self, users: &'a UsersTable) -> Opening<'a, Accounts> {
        self.opening(accounts::open(self, users))
    }

    fn api_keys<'a>(&'a self, table: &'a str) -> Opening<'a, ApiKeys> {
        self.opening(api_keys::open(self, table))
    }

    fn create_api_keys_table<'a>(&'a self, table: &'a str) -> Opening<'a, ()> {
        self.opening(async move {
            let mut connection = self.writes.take(false).await?;
            Ok(connection.execute(&api_keys::create_table(table)).await?)
        })
    }

    fn audit_table<'a>(&'a self, table: &'a str) -> Opening<'a, AuditTable> {
        self.opening(audit::open(self, table))
    }

    fn stores(&self, queries: usize) -> Opening<'_, StateStores> {
        self.opening(async move { Ok(StateStores::with_attempts(state::open(self, queries).await?).await?) })
    }

    fn ping(&self) -> Opening<'_, ()> {
        self.opening(async {
            match self.pool.take(false).await {
                Ok(mut connection) => Ok(connection.execute("DO 1").await?),
                Err(PoolError::Exhausted) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
    }

    fn query_plan<'a>(&'a self, plan: &'a Plan) -> Examining<'a, Vec<(String, Vec<String>)>> {
        Box::pin(async move {
            let statement = self.statements.of_plan(plan);
            let mut connection = self.pool.take(false).await?;
            let rows = read::explain(&mut connection, plan, &statement).await?;
            Ok(vec![(statement.statement.to_string(), read::steps(&rows))])
        })
    }

    fn check_sorts<'a>(&'a self, plan: &'a Plan) -> Examining<'a, ()> {
        Box::pin(async move {
            let statement = self.statements.of_plan(plan);
            let sorted = async || {
                let mut connection = self.pool.take(false).await?;
                Ok(Some(read::sorted_rows(&read::explain(&mut connection, plan, &statement).await?)))
            };
            self.sort_bound.check(plan, sorted).await
        })
    }

    fn has_index<'a>(&'a self, table: &'a TableName, columns: &'a [String]) -> Examining<'a, Option<bool>> {
        Box::pin(async move {
            let mut connection = self.pool.take(false).await?;
            Ok(catalog::has_index(&mut connection, table, columns).await.map_err(PoolError::Failed)?)
        })
    }
}
