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
use crate::catalog::indexes;
use crate::changes::{self, triggers};
use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::PoolError;
use crate::write::{audit, probe};
use crate::{read, sql, state};

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

    fn watch(&self, changes: Changes) -> BoxFuture<'static, ()> {
        Box::pin(changes::watch(self.clone(), changes))
    }

    fn triggers<'a>(&'a self, schema: &'a Schema, install: bool) -> Opening<'a, Option<String>> {
        self.opening(async move {
            let statements = triggers::statements(self, schema).await?;
            if install {
                self.writes.execute(&statements).await?;
            }
            Ok(Some(statements))
        })
    }

    fn trigger_note<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Option<String>> {
        self.opening(triggers::note(self, schema))
    }

    /// Returns the accounts of the primary, because a replica may lack a password that has just been changed.
    fn accounts<'a>(&'a self, users: &'a UsersTable) -> Opening<'a, Accounts> {
        self.opening(accounts::open(self, users))
    }

    /// Returns the API keys of the primary, because a replica may have a key that has just been revoked.
    fn api_keys<'a>(&'a self, table: &'a str) -> Opening<'a, ApiKeys> {
        self.opening(api_keys::open(self, table))
    }

    fn create_api_keys_table<'a>(&'a self, table: &'a str) -> Opening<'a, ()> {
        self.opening(async move {
            let table = sql::qualified(&TableName::parse(table)?, self.default_schema());
            self.writes.execute(&api_keys::create_table(&table)).await
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
                Ok(connection) => Ok(connection.execute("SELECT 1").await?),
                Err(PoolError::Exhausted) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
    }

    /// Returns whether replicas or other hosts of the primary's URL answer.
    fn answers_without_primary(&self) -> bool {
        !self.replicas.is_empty() && {
            self.replicas.watch(&self.pool);
            self.replicas.primary_is_down() && self.replicas.choose(true).is_some()
        }
    }

    fn query_plan<'a>(&'a self, plan: &'a Plan) -> Examining<'a, Vec<(String, Vec<String>)>> {
        Box::pin(async move {
            let statement = self.statements.of_plan(plan);
            let connection = self.pool.take(false).await?;
            let steps = read::query_plan(&connection, plan, &statement).await?;
            Ok(vec![(statement.statement.to_string(), steps)])
        })
    }

    fn check_sorts<'a>(&'a self, plan: &'a Plan) -> Examining<'a, ()> {
        Box::pin(async move {
            let statement = self.statements.of_plan(plan);
            let steps = async || {
                let connection = self.pool.take(false).await?;
                read::query_plan(&connection, plan, &statement).await
            };
            read::sort_bound::check(&self.sort_bound, plan, steps).await
        })
    }

    fn has_index<'a>(&'a self, table: &'a TableName, columns: &'a [String]) -> Examining<'a, Option<bool>> {
        Box::pin(async move {
            let connection = self.pool.take(false).await?;
            let table = sql::table(&sql::qualified(table, self.default_schema()));
            Ok(indexes::has_index(&connection, &table, columns).await.map_err(PoolError::Failed)?)
        })
    }
}
