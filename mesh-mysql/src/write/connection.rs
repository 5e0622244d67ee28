//! A connection on which a transaction runs.

use mesh_backend::transaction::{Connection, Ran};
use mesh_plan::sql::Statement;
use mesh_plan::sql::mysql::Param;
use mesh_plan::{Key, Value};
use mysql_async::{Error, Row};

use crate::pool::Lease;

/// A connection on which a transaction runs.
pub(super) struct Transaction(pub(super) Lease);

impl Connection for Transaction {
    type Param = Param;
    type Row = Row;
    type Error = Error;

    async fn begin(&mut self) -> Result<(), Error> {
        self.0.begin("START TRANSACTION").await
    }

    async fn savepoint(&mut self, sql: &'static str) -> Result<(), Error> {
        self.0.execute(sql).await
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.0.execute(sql).await
    }

    async fn run(&mut self, statements: &[&Statement<Param>], id: &Key) -> (Vec<Ran<Row>>, Option<Error>) {
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            let params: Vec<Value> =
                statement.params.iter().map(|param| param.for_write(id).into_owned()).collect();
            match self.0.write(&statement.sql, &params).await {
                Ok(ran) => all.push(ran),
                Err(error) => return (all, Some(error)),
            }
        }
        (all, None)
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.0.end("COMMIT").await
    }

    async fn rollback(&mut self) {
        if !self.0.is_running() {
            let _ = self.0.end("ROLLBACK").await;
        }
    }
}
