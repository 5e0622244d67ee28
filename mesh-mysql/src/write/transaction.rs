//! A transaction on a connection.

use std::sync::Arc;

use mesh_backend::pool::{Connection as _, RowBudget};
use mesh_backend::rows::Decoder as _;
use mesh_backend::sort_limit::SortLimit;
use mesh_backend::transaction::{Engine, Failure, Ran, Transaction};
use mesh_plan::error::Rule;
use mesh_plan::mutation::GuardedEntity;
use mesh_plan::{JsonBody, Key, Mutation, Plan, ResolveError, Value, WriteError};
use mesh_sql::mysql::{MySql, Param, ReadStatement};
use mesh_sql::{SetReference, Statement, find, references};
use mysql_async::{Error, Row};

use crate::cells::{DriverCells, LevelRows, NodeRowSource};
use crate::pool::{Lease, Pool};
use crate::read;
use crate::read::StatementCache;

/// The servers of a database.
#[derive(Clone)]
pub struct MySqlEngine {
    pub(super) pool: Arc<Pool>,
    /// Whether transactions write nothing, and read one snapshot each.
    pub(super) is_snapshot: bool,
    pub(super) statements: Arc<StatementCache>,
    pub(super) sort_limit: Arc<SortLimit>,
}

/// A transaction on a connection.
pub struct MySqlTransaction {
    connection: Lease,
    engine: MySqlEngine,
}

impl Engine for MySqlEngine {
    type Transaction = MySqlTransaction;

    async fn take(&self, fresh: bool) -> Result<MySqlTransaction, ResolveError> {
        Ok(MySqlTransaction { connection: self.pool.take(fresh).await?, engine: self.clone() })
    }
}

impl Transaction for MySqlTransaction {
    type Dialect = MySql;
    type Row = Row;

    async fn begin(&mut self) -> Result<(), Error> {
        match self.engine.is_snapshot {
            true => self.connection.begin_snapshot().await,
            false => self.connection.begin("START TRANSACTION").await,
        }
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.execute(sql).await
    }

    async fn run(&mut self, statements: &[&Statement<Param>], id: &Key) -> (Vec<Ran<Row>>, Option<Error>) {
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            let params: Vec<Value> =
                statement.params.iter().map(|param| param.value_for_write(id).into_owned()).collect();
            match self.connection.write(&statement.sql, &params).await {
                Ok(ran) => all.push(ran),
                Err(error) => return (all, Some(error)),
            }
        }
        (all, None)
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.connection.end("COMMIT").await
    }

    async fn rollback(&mut self) {
        if !self.connection.is_running() {
            let _ = self.connection.end("ROLLBACK").await;
        }
    }

    fn dialect(&self) -> &MySql {
        &MySql
    }

    fn key(row: &Row) -> Key {
        DriverCells::values(row).into_iter().collect()
    }

    async fn lock(&mut self, subject: &GuardedEntity, id: &Key, _: bool) -> Result<bool, Error> {
        Ok(self.query(&find(subject, id, true, &MySql), id).await?.count > 0)
    }

    async fn read(&mut self, plan: &Plan) -> Result<JsonBody, Failure<ResolveError>> {
        let read = self.engine.statements.of_plan(plan);
        if plan.related_sort_rows().is_some() {
            let steps = read::explain(&mut self.connection, plan, &read).await;
            let sorted = async || Ok(Some(read::sorted_rows(&steps?)));
            self.engine.sort_limit.check(plan, sorted).await?;
        }
        let fetched = self.fetch(plan, &read).await?;
        Ok(plan.shape(&mut NodeRowSource::new(&fetched, &read.layout, plan.node()), 0)?)
    }

    async fn read_records(
        &mut self,
        plan: &Plan,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, Failure<ResolveError>> {
        let plan = plan.for_records(ids);
        let read = ReadStatement::from_plan(&plan, &MySql);
        let fetched = self.fetch(&plan, &read).await?;
        let mut source = NodeRowSource::new(&fetched, &read.layout, plan.node());
        Ok(plan.shape_records(&mut source, ids)?)
    }

    /// Searches for the foreign key that refers to a missing record, if the error does not name it.
    async fn search_fields(&mut self, mutation: &Mutation, _: &Error, failed: WriteError) -> WriteError {
        match failed {
            WriteError::Conflict { rule: Rule::Reference, fields, .. } if fields.is_empty() => {
                let mut missing = Vec::new();
                for SetReference { fields, statement } in references(mutation, &MySql) {
                    // A field is not named if the check fails.
                    if self.query(&statement, &Key::default()).await.is_ok_and(|found| found.count == 0) {
                        missing.extend(fields);
                    }
                }
                WriteError::conflict_of(Rule::Reference, missing)
            }
            failed => failed,
        }
    }
}

impl MySqlTransaction {
    /// Returns the rows of a read.
    async fn fetch(&mut self, plan: &Plan, read: &ReadStatement) -> Result<LevelRows, Failure<ResolveError>> {
        let (params, budget) = (read::params(plan, read), RowBudget::of_plan(plan));
        let ran = self.connection.run(&read.statement.sql, &params, budget).await;
        let ran = ran.map_err(|error| error.failure(|error| error.of_read(plan)))?;
        Ok(LevelRows::new(ran.rows, read.levels))
    }
}
