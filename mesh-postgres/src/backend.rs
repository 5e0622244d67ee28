//! What a server needs of the database beside reads.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::Contents;
use mesh_backend::accounts::Accounts;
use mesh_backend::backend::{Backend, Examining, Opening, StateStores};
use mesh_backend::own_table::OwnTable;
use mesh_backend::probe::refused_writes;
use mesh_backend::transaction::End;
use mesh_integrity::UsersTable;
use mesh_plan::backend::Usage;
use mesh_plan::{BoxFuture, Changes, Mutator, Plan, Resolver};
use mesh_schema::{Schema, TableName};

use crate::accounts;
use crate::catalog::indexes;
use crate::changes::{self, triggers};
use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::PoolError;
use crate::tables::DIALECT;
use crate::write::Writer;
use crate::{read, sql, state};

impl Backend for Database {
    fn contents<'a>(&'a self, times: &'a [(String, String)]) -> Opening<'a, Contents> {
        Box::pin(self.contents(times))
    }

    fn refused_writes<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Vec<String>> {
        self.opening(async move {
            let probes = mesh_sql::write_probes(schema, &self.statements.dialect);
            Ok(refused_writes(&mut *self.pool.take(false).await?, &probes).await?)
        })
    }

    fn open_writer(&self) -> Result<Arc<dyn Mutator>, OpenError> {
        Ok(Arc::new(self.writer()))
    }

    /// Rolls writes back after all their checks, deferred constraints included. Sequences still advance.
    fn rehearsal<'a>(&'a self, _folder: &'a Path) -> Opening<'a, (Arc<dyn Resolver>, Arc<dyn Mutator>)> {
        let writer = Writer::new(self.engine(), End::Discard);
        self.opening(async { Ok((Arc::new(self.clone()) as _, Arc::new(writer) as _)) })
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

    /// Finds a table of the primary, because a replica may have a key that has just been revoked.
    fn own_table<'a>(&'a self, name: &'a str) -> Opening<'a, OwnTable> {
        self.opening(async move {
            let table = self.find_table(TableName::parse(name)?).await?;
            let (quoted, columns) = (sql::table(&table), self.columns(&table).await?);
            let (reads, writes) = (self.pool.clone(), self.writes.clone());
            Ok(OwnTable { name: name.to_owned(), quoted, columns, reads, writes, dialect: &DIALECT })
        })
    }

    fn open_error(&self, cause: BoxError) -> OpenError {
        OpenError::new(self.pool.name(), cause)
    }

    fn stores(&self, queries: usize) -> Opening<'_, StateStores> {
        self.opening(async move {
            let state = state::open(self, queries).await?;
            Ok(StateStores::new(state.clone(), Some(Arc::new(state))).await?)
        })
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
            read::sort_limit::check(&self.sort_limit, plan, steps).await
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
