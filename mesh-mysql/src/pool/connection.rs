//! A connection to the database.

use mesh_backend::pool::{self, ErrorKind, RowBudget};
use mesh_backend::transaction::Ran;
use mesh_plan::Value;
use mysql_async::prelude::Queryable as _;
use mysql_async::{BinaryProtocol, Conn, Error, Params, QueryResult, Row};
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver};

use super::hosts::Hosts;
use super::statements::Statements;
use super::{PoolError, code, is_one_of, kind};

/// A connection. At most one statement runs on it.
pub(crate) struct Connection {
    conn: Conn,
    hosts: Hosts,
    /// The index of the server.
    host: usize,
    /// The runtime that opened the connection.
    runtime: Id,
    /// Closed when that runtime ends, after which the connection cannot be used.
    end: Receiver<()>,
    /// Whether a statement has begun whose result has not arrived completely.
    is_running: bool,
    in_transaction: bool,
    statements: Statements,
}

impl Connection {
    pub(super) fn new(conn: Conn, hosts: Hosts, host: usize, statements: Statements) -> Self {
        let (mut open, end) = oneshot::channel();
        let runtime = Handle::current();
        // The task ends with the connection or with the runtime.
        runtime.spawn(async move { open.closed().await });
        let (runtime, is_running, in_transaction) = (runtime.id(), false, false);
        Self { conn, hosts, host, runtime, end, is_running, in_transaction, statements }
    }

    /// Runs a statement without parameters.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<(), Error> {
        self.is_running = true;
        let result = self.conn.query_drop(sql).await;
        self.record_result(result)
    }

    /// Runs a statement and collects its rows.
    pub(crate) async fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        Ok(self.write(sql, params).await?.rows)
    }

    /// Runs a statement, and returns its rows and the number of rows that it found, whether it changed them or not.
    pub(crate) async fn write(&mut self, sql: &str, params: &[Value]) -> Result<Ran<Row>, Error> {
        self.run(sql, params, RowBudget::UNLIMITED).await.map_err(|error| match error {
            PoolError::Failed(error) => error,
            error => Error::Other(error.into()),
        })
    }

    /// Runs a statement as [`Self::write`] does, and stops reading when the rows exceed the budget.
    pub(crate) async fn run(
        &mut self,
        sql: &str,
        params: &[Value],
        mut budget: RowBudget,
    ) -> Result<Ran<Row>, PoolError> {
        self.is_running = true;
        let running = async {
            let failed = PoolError::Failed;
            let statement = self.statements.prepare(&mut self.conn, sql).await.map_err(failed)?;
            let mut result = self.conn.exec_iter(&statement, to_params(params)).await.map_err(failed)?;
            let (returns_rows, found) = (!result.columns_ref().is_empty(), result.affected_rows());
            let mut rows = Vec::new();
            while let Some(row) = result.next().await.map_err(failed)? {
                budget.spend(row_size(&row)).map_err(PoolError::Exceeded)?;
                rows.push(row);
            }
            result.drop_result().await.map_err(failed)?;
            let count = if returns_rows { rows.len() as u64 } else { found };
            Ok(Ran { rows, count })
        };
        let result = match running.await {
            Ok(ran) => Ok(ran),
            Err(PoolError::Failed(error)) => Err(error),
            exceeded => return exceeded,
        };
        if matches!(result, Ok(_) | Err(Error::Server(_))) {
            // If this fails, the connection is lost, which its next statement reports.
            drop(self.statements.close_unkept(&mut self.conn).await);
        }
        self.record_result(result).map_err(PoolError::Failed)
    }

    /// Starts a statement whose rows are taken in parts, while the server waits.
    pub(crate) async fn open_rows(&mut self, sql: &str, params: &[Value]) -> Result<OpenRows<'_>, Error> {
        self.is_running = true;
        let result = self.conn.exec_iter(sql, to_params(params)).await?;
        Ok(OpenRows { result, is_running: &mut self.is_running })
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&mut self, how: &str) -> Result<(), Error> {
        self.in_transaction = true;
        self.execute(how).await
    }

    /// Begins a transaction that writes nothing, and whose statements all read one snapshot.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), Error> {
        self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        self.begin("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").await
    }

    /// Ends a transaction with `COMMIT` or `ROLLBACK`.
    pub(crate) async fn end(&mut self, how: &str) -> Result<(), Error> {
        self.execute(how).await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Records the end of a statement. After an error that does not come from the server, the state of the connection
    /// is unknown.
    fn record_result<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        match &result {
            Ok(_) => self.is_running = false,
            Err(error @ Error::Server(_)) if kind(error) != ErrorKind::Stale => self.is_running = false,
            // Nothing runs on a connection that is lost, and it must not be used again.
            Err(_) => (self.is_running, self.in_transaction) = (false, true),
        }
        result
    }
}

impl pool::Connection for Connection {
    type Error = Error;

    fn runtime(&self) -> Id {
        self.runtime
    }

    fn is_open(&mut self) -> bool {
        !matches!(self.end.try_recv(), Err(TryRecvError::Closed))
    }

    fn is_running(&self) -> bool {
        self.is_running
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    async fn end_statement(&self) -> Result<(), Error> {
        let mut other = self.hosts.open_host(self.host, &[]).await?;
        other.query_drop(format!("KILL QUERY {}", self.conn.id())).await?;
        other.disconnect().await
    }

    /// The database decides when it prepares a statement.
    async fn refusal(&mut self, sql: &str) -> Result<Option<String>, Error> {
        self.is_running = true;
        let preparing = async {
            let statement = self.conn.prep(sql).await?;
            self.conn.close(statement).await
        };
        let result = preparing.await;
        match self.record_result(result) {
            Ok(()) => Ok(None),
            Err(Error::Server(cause)) => Ok(Some(cause.message)),
            Err(error) => Err(error),
        }
    }

    fn kind(error: &Error) -> ErrorKind {
        kind(error)
    }

    /// On a cluster, another server has committed a conflicting transaction first.
    fn is_conflict(error: &Error) -> bool {
        is_one_of(error, &[code::DEADLOCK])
    }
}

/// The rows of a statement that is running.
pub(crate) struct OpenRows<'l> {
    result: QueryResult<'l, 'static, BinaryProtocol>,
    is_running: &'l mut bool,
}

impl OpenRows<'_> {
    /// Returns the next `size` rows, fewer at the end of the result, and none after the end.
    pub(crate) async fn next(&mut self, size: usize) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::with_capacity(size);
        while rows.len() < size {
            let Some(row) = self.result.next().await? else {
                *self.is_running = false;
                break;
            };
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Returns the number of bytes of a row that a response can show. A number has at least one.
fn row_size(row: &Row) -> usize {
    let size = |index| match row.as_ref(index) {
        Some(mysql_async::Value::Bytes(bytes)) => bytes.len(),
        None | Some(mysql_async::Value::NULL) => 0,
        Some(_) => 1,
    };
    (0..row.len()).map(size).sum()
}

fn to_params(params: &[Value]) -> Params {
    let values = params.iter().map(|value| match value {
        Value::Null => mysql_async::Value::NULL,
        Value::Boolean(value) => i64::from(*value).into(),
        Value::Integer(value) => mysql_async::Value::Int(*value),
        Value::Real(value) => mysql_async::Value::Double(*value),
        Value::Text(text) => mysql_async::Value::Bytes(text.clone().into_bytes()),
        Value::InvalidText(bytes) | Value::Bytes(bytes) => mysql_async::Value::Bytes(bytes.clone()),
    });
    let values: Vec<_> = values.collect();
    if values.is_empty() { Params::Empty } else { Params::Positional(values) }
}
