//! A connection on which a transaction runs.

use futures_util::future::try_join;
use mesh_backend::transaction::{Connection, Ran};
use mesh_plan::Key;
use mesh_plan::sql::Statement;
use mesh_plan::sql::postgres::Param;
use tokio_postgres::{Error, Row};

use crate::pool::Lease;
use crate::pool::link::Link;
use crate::sql::TextParam;

/// A connection on which a transaction runs. The commands that begin it and set a savepoint are sent with the next
/// statements, in one round trip.
pub(super) struct Transaction {
    link: Lease,
    /// Whether the transaction has yet to begin.
    begins: bool,
    savepoint: Option<&'static str>,
}

impl Transaction {
    pub(super) fn new(link: Lease) -> Self {
        Self { link, begins: false, savepoint: None }
    }

    /// Returns the connection, on which the transaction has begun.
    pub(super) async fn begun(&mut self) -> Result<&Link, Error> {
        let (begins, savepoint) = (std::mem::take(&mut self.begins), self.savepoint.take());
        open(&self.link, begins, savepoint).await?;
        Ok(&self.link)
    }

    /// Returns the connection after the end of the transaction.
    pub(super) fn into_link(self) -> Lease {
        self.link
    }

    /// Returns the connection after a statement.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

/// Begins a transaction and sets a savepoint.
async fn open(link: &Link, begins: bool, savepoint: Option<&'static str>) -> Result<(), Error> {
    // The futures send their commands when they are first polled, which is in order.
    let begin = async { if begins { link.begin().await } else { Ok(()) } };
    let set = async {
        match savepoint {
            Some(sql) => link.execute(sql).await,
            None => Ok(()),
        }
    };
    try_join(begin, set).await.map(drop)
}

impl Connection for Transaction {
    type Param = Param;
    type Row = Row;
    type Error = Error;

    const BATCH: usize = 16;

    async fn begin(&mut self) -> Result<(), Error> {
        self.begins = true;
        Ok(())
    }

    async fn savepoint(&mut self, sql: &'static str) -> Result<(), Error> {
        self.savepoint = Some(sql);
        Ok(())
    }

    async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.begun().await?.execute(sql).await
    }

    async fn run(&mut self, statements: &[&Statement<Param>], id: &Key) -> (Vec<Ran<Row>>, Option<Error>) {
        let statements = statements.iter().map(|Statement { sql, params }| {
            (sql.as_str(), params.iter().map(|param| TextParam(param.for_write(id))).collect())
        });
        let statements: Vec<_> = statements.collect();
        let (begins, savepoint) = (std::mem::take(&mut self.begins), self.savepoint.take());
        let opening = open(&self.link, begins, savepoint);
        let (all, error) = self.link.query_all(opening, &statements).await;
        (all.into_iter().map(|rows| Ran { count: rows.len() as u64, rows }).collect(), error)
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.begun().await?.end("COMMIT").await
    }

    async fn rollback(&mut self) {
        if !self.link.is_running() {
            let _ = self.link.end("ROLLBACK").await;
        }
    }
}
