//! What a server needs of the database beside reads.

use std::path::Path;
use std::sync::Arc;

use mesh_backend::Contents;
use mesh_backend::accounts::Accounts;
use mesh_backend::backend::{Backend, Examining, Opening, StateStores};
use mesh_backend::own_table::OwnTable;
use mesh_backend::probe::refused_writes;
use mesh_backend::tables::quoted;
use mesh_backend::transaction::End;
use mesh_integrity::UsersTable;
use mesh_plan::backend::Usage;
use mesh_plan::{BoxFuture, Changes, Mutator, Plan, Resolver};
use mesh_schema::{Schema, TableName};
use mesh_sql::mysql::MySql;

use crate::accounts;
use crate::database::Database;
use crate::error::{BoxError, OpenError};
use crate::pool::PoolError;
use crate::tables::DIALECT;
use crate::write::Writer;
use crate::{catalog, changes, read, state};

impl Backend for Database {
    fn contents<'a>(&'a self, times: &'a [(String, String)]) -> Opening<'a, Contents> {
        Box::pin(self.contents(times))
    }

    fn refused_writes<'a>(&'a self, schema: &'a Schema) -> Opening<'a, Vec<String>> {
        self.opening(async move {
            let probes = mesh_sql::write_probes(schema, &MySql);
            Ok(refused_writes(&mut *self.writes.take(false).await?, &probes).await?)
        })
    }

    fn open_writer(&self) -> Result<Arc<dyn Mutator>, OpenError> {
        Ok(Arc::new(self.writer()))
    }

    /// Rolls writes back. Generated numbers still advance.
    fn rehearsal<'a>(&'a self, _folder: &'a Path) -> Opening<'a, (Arc<dyn Resolver>, Arc<dyn Mutator>)> {
        let writer = Writer::new(self.engine(), End::Discard);
        self.opening(async { Ok((Arc::new(self.clone()) as _, Arc::new(writer) as _)) })
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

    fn own_table<'a>(&'a self, name: &'a str) -> Opening<'a, OwnTable> {
        self.opening(async move {
            let (quoted, columns) = (quoted(name, '`'), self.columns(name).await?);
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
            self.sort_limit.check(plan, sorted).await
        })
    }

    fn has_index<'a>(&'a self, table: &'a TableName, columns: &'a [String]) -> Examining<'a, Option<bool>> {
        Box::pin(async move {
            let mut connection = self.pool.take(false).await?;
            Ok(catalog::has_index(&mut connection, table, columns).await.map_err(PoolError::Failed)?)
        })
    }
}
