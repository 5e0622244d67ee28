//! A connection with its prepared statements.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use futures_util::future::{join, join_all, try_join3};
use mesh_backend::pool::{self, BudgetExceeded, ErrorKind, RowBudget};
use mesh_plan::backend::{Cache, Repeats};
use tokio::runtime::{Handle, Id};
use tokio::sync::OnceCell;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::AbortHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{
    AsyncMessage, Client, Error, Notification, Row, RowStream, SimpleQueryMessage, SimpleQueryRow, Statement,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::pool::connect_url::ConnectUrl;
use crate::pool::error_kind::kind;
use crate::pool::hosts::Hosts;
use crate::pool::role::Role;
use crate::settings::Settings;
use crate::sql::TextParam;

/// The memory that the server needs for a prepared statement and its plan, in bytes for each byte of the text. Measured
/// with `pg_backend_memory_contexts` for reads of 1 to 100 relations: 93 to 125.
const BYTES_PER_TEXT_BYTE: usize = 125;

/// Bytes of a row that the response does not show: the numbers of its level, its parent and itself, and lengths.
const ROW_OVERHEAD: usize = 64;

/// The time after which a statement that still runs is cancelled again.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the estimated memory of the server for a prepared statement.
fn server_bytes(sql: &str) -> usize {
    sql.len().saturating_mul(BYTES_PER_TEXT_BYTE)
}

/// A statement that is prepared once, even if several reads need it at the same time.
type Prepared = Arc<OnceCell<Statement>>;

/// The reason why a statement has no result.
pub(crate) type PoolError = pool::PoolError<Connection>;

/// A connection with the notifications that it receives.
pub(crate) type ConnectionWithNotifications = (Connection, UnboundedReceiver<Notification>);

/// An open connection.
pub(crate) struct Connection {
    client: Client,
    statements: Cache<Box<str>, Prepared>,
    /// The statements that came before, on this connection or another one.
    repeats: Arc<Repeats>,
    tls: MakeRustlsConnect,
    hosts: Arc<Hosts>,
    /// The timeline of the primary when the connection was opened; 0 if the URL does not ask for a primary.
    pub(crate) timeline: u32,
    has_pooler: bool,
    /// The statements that begin a transaction.
    begin: Arc<str>,
    /// The runtime that reads and writes the connection's messages.
    pub(super) runtime: Id,
    /// The number of statements whose results have not arrived.
    running: AtomicUsize,
    in_transaction: AtomicBool,
    /// The task that reads and writes the connection's messages.
    task: AbortHandle,
}

impl Connection {
    /// Opens a connection to a host of a URL, and returns it with the notifications that it receives.
    pub(super) async fn open_host(
        url: &ConnectUrl,
        host: usize,
        settings: &Settings,
        begin: &Arc<str>,
    ) -> Result<ConnectionWithNotifications, Error> {
        let config = url.configs.get(host).cloned().unwrap_or_default();
        let (client, mut connection) = config.connect(url.tls.clone()).await?;
        let (sender, notifications) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                match message {
                    // Most connections have no receiver.
                    Ok(AsyncMessage::Notification(notification)) => drop(sender.send(notification)),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::debug!("a connection to the database ended: {error}");
                        break;
                    }
                }
            }
        });
        let opened = Self {
            client,
            statements: Cache::new(settings.statements),
            repeats: Arc::clone(&url.repeats),
            tls: url.tls.clone(),
            hosts: Arc::clone(&url.hosts),
            timeline: 0,
            has_pooler: settings.pooler,
            begin: Arc::clone(begin),
            runtime: Handle::current().id(),
            running: AtomicUsize::new(0),
            in_transaction: AtomicBool::new(false),
            task: task.abort_handle(),
        };
        Ok((opened, notifications))
    }

    /// Runs statements without parameters.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.track(self.client.batch_execute(sql)).await
    }

    /// Returns the state of the server, and then runs a statement without parameters.
    pub(crate) async fn role(&self, then: &str) -> Result<Role, Error> {
        let messages = self.track(self.client.simple_query(&format!("{}; {then}", Role::QUERY))).await?;
        let cells =
            |row: &SimpleQueryRow| (0..row.len()).map(|cell| row.get(cell).map(str::to_owned)).collect();
        let row: Option<Vec<_>> = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(cells(row)),
            _ => None,
        });
        Ok(Role::parse(&row.unwrap_or_default()))
    }

    /// Runs a statement, which is prepared as [`Self::prepare_repeated`] describes.
    pub(crate) async fn query(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Error> {
        let rows = async {
            let prepared = self.prepare_repeated(sql).await?;
            self.stream(prepared, sql, params).await?.try_collect().await
        };
        self.track(rows).await
    }

    /// Runs a statement, and collects its rows while they are within the budget.
    ///
    /// # Errors
    /// [`PoolError::Exceeded`] when the rows exceed the budget. The statement then still counts as running, so that it is
    /// cancelled when the connection is returned.
    pub(crate) async fn query_bounded(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let rows = async { self.collect_rows(self.prepare_repeated(sql).await?, sql, params, budget).await };
        let rows = match rows.await {
            Ok(Err(exceeded)) => return Err(PoolError::Exceeded(exceeded)),
            Ok(Ok(rows)) => Ok(rows),
            Err(error) => Err(PoolError::Failed(error)),
        };
        self.running.fetch_sub(1, Ordering::Relaxed);
        rows
    }

    /// Runs statements after `opening`, and sends each one without waiting for the results of earlier ones. Returns the
    /// rows of the statements before the first one that fails, with its error or the error of `opening`.
    pub(crate) async fn query_all(
        &self,
        opening: impl Future<Output = Result<(), Error>>,
        statements: &[(&str, Vec<TextParam<'_>>)],
    ) -> (Vec<Vec<Row>>, Option<Error>) {
        let mut queries = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            let prepared = match self.track(self.prepare_repeated(sql)).await {
                // The error has ended the transaction, in which no other statement can run.
                Err(error) if self.in_transaction.load(Ordering::Relaxed) => {
                    return (Vec::new(), Some(error));
                }
                prepared => prepared.ok().flatten(),
            };
            queries.push(
                async move { self.stream(prepared, sql, params).await?.try_collect::<Vec<Row>>().await },
            );
        }
        // The futures send their requests when they are first polled, which is in order.
        let (opened, results) = self.track(join(opening, join_all(queries))).await;
        let mut all = Vec::with_capacity(statements.len());
        let failed =
            opened.and_then(|()| results.into_iter().try_for_each(|rows| rows.map(|rows| all.push(rows))));
        (all, failed.err())
    }

    /// Runs a statement without preparing it.
    pub(crate) async fn query_once(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Row>, Error> {
        self.track(async { self.stream_once(sql, params).await?.try_collect().await }).await
    }

    /// Runs a statement in a separate transaction as [`Self::query_bounded`] does. Behind a pooler, the settings of a session
    /// apply only in a transaction.
    pub(super) async fn query_in_transaction(
        &self,
        sql: &str,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Result<Vec<Row>, PoolError> {
        if !self.has_pooler {
            return self.query_bounded(sql, params, budget).await;
        }
        // The futures send their requests when they are first polled, which is in order. After the budget is exceeded,
        // the later ones are not awaited, because their results arrive after all rows.
        let begin = async { Ok(self.execute(&self.begin).await) };
        let query = async {
            match self.query_bounded(sql, params, budget).await {
                Err(exceeded @ PoolError::Exceeded(_)) => Err(exceeded),
                rows => Ok(rows),
            }
        };
        let commit = async { Ok(self.execute("COMMIT").await) };
        let (begun, rows, committed) = try_join3(begin, query, commit).await?;
        begun.map_err(PoolError::Failed)?;
        let rows = rows?;
        committed.map_err(PoolError::Failed)?;
        Ok(rows)
    }

    /// Collects the rows of a statement while they are within the budget.
    pub(super) async fn collect_rows(
        &self,
        prepared: Option<Statement>,
        sql: &str,
        params: &[TextParam<'_>],
        mut budget: RowBudget,
    ) -> Result<Result<Vec<Row>, BudgetExceeded>, Error> {
        let mut stream = pin!(self.stream(prepared, sql, params).await?);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await? {
            if let Err(exceeded) = budget.spend(row.raw_size_bytes().saturating_sub(ROW_OVERHEAD)) {
                return Ok(Err(exceeded));
            }
            rows.push(row);
        }
        Ok(Ok(rows))
    }

    async fn stream(
        &self,
        prepared: Option<Statement>,
        sql: &str,
        params: &[TextParam<'_>],
    ) -> Result<RowStream, Error> {
        match prepared {
            Some(statement) => self.client.query_raw(&statement, params).await,
            None => self.stream_once(sql, params).await,
        }
    }

    async fn stream_once(&self, sql: &str, params: &[TextParam<'_>]) -> Result<RowStream, Error> {
        let typed = params.iter().map(|param| (param, Type::UNKNOWN));
        self.client.query_typed_raw(sql, typed).await
    }

    /// Starts a statement whose rows are taken in parts, while the server waits. The statement counts as running until
    /// the last part is taken.
    pub(crate) async fn open_rows(&self, sql: &str, params: &[TextParam<'_>]) -> Result<OpenRows<'_>, Error> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let stream = Box::pin(self.stream_once(sql, params).await?);
        Ok(OpenRows { stream, running: &self.running })
    }

    /// Begins a transaction with the settings of a session.
    pub(crate) async fn begin(&self) -> Result<(), Error> {
        self.in_transaction.store(true, Ordering::Relaxed);
        self.execute(&self.begin).await
    }

    /// Begins a transaction that writes nothing, and whose statements all read one snapshot.
    pub(crate) async fn begin_snapshot(&self) -> Result<(), Error> {
        self.in_transaction.store(true, Ordering::Relaxed);
        let isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        self.execute(&format!("{}; {isolation}", self.begin)).await
    }

    /// Ends a transaction with `COMMIT` or `ROLLBACK`.
    pub(crate) async fn end(&self, how: &str) -> Result<(), Error> {
        self.execute(how).await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Returns a statement that is already prepared.
    pub(super) fn prepared(&self, sql: &str) -> Option<Statement> {
        self.statements.get(sql)?.get().cloned()
    }

    /// Returns a prepared statement; `None` if there is a pooler, if the statement would take too much of the server's memory,
    /// or if it did not come before: most statements that a client makes up never come again.
    async fn prepare_repeated(&self, sql: &str) -> Result<Option<Statement>, Error> {
        if self.has_pooler || self.statements.get(sql).is_none() && !self.repeats.is_repeat(sql) {
            return Ok(None);
        }
        self.prepare(sql).await
    }

    /// Returns a prepared statement, from the cache if possible; `None` if it would not be kept.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Option<Statement>, Error> {
        let cell = match self.statements.get(sql) {
            Some(cell) => cell,
            None if !self.statements.accepts(server_bytes(sql)) => return Ok(None),
            None => {
                let cell = Prepared::default();
                // A statement that this displaces is closed when it is no longer in use.
                self.statements.insert(sql.into(), Arc::clone(&cell), server_bytes(sql));
                cell
            }
        };
        Ok(Some(cell.get_or_try_init(|| self.client.prepare(sql)).await?.clone()))
    }

    /// Counts a statement as running until its result has arrived, even if the future is dropped earlier.
    async fn track<T>(&self, running: impl Future<Output = T>) -> T {
        self.running.fetch_add(1, Ordering::Relaxed);
        let result = running.await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Returns whether the connection cannot be used any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_replaced()
    }

    /// Returns whether another host was promoted in place of the host of this connection.
    pub(crate) fn is_replaced(&self) -> bool {
        self.timeline < self.hosts.timeline()
    }

    /// Closes the connection immediately; statements that run on it fail.
    pub(super) fn abort(&self) {
        self.task.abort();
    }
}

impl pool::Connection for Connection {
    type Error = Error;

    fn runtime(&self) -> Id {
        self.runtime
    }

    fn is_open(&mut self) -> bool {
        !self.is_closed()
    }

    fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    /// Cancels the statement until it has ended. A cancellation that arrives before the statement begins has no effect, and
    /// PostgreSQL does not notice that a connection is closed while it runs a statement.
    async fn end_statement(&self) -> Result<(), Error> {
        // The empty statement is answered after the running one, because answers arrive in order.
        let mut ended = pin!(self.client.batch_execute(""));
        loop {
            self.client.cancel_token().cancel_query(self.tls.clone()).await?;
            if let Ok(ended) = tokio::time::timeout(CANCEL_INTERVAL, &mut ended).await {
                return ended;
            }
        }
    }

    /// Only the start of a statement checks privileges, and `EXPLAIN` includes that.
    async fn refusal(&mut self, sql: &str) -> Result<Option<String>, Error> {
        match self.query_once(&format!("EXPLAIN {sql}"), &[]).await {
            Ok(_) => Ok(None),
            Err(error) => error.as_db_error().map(|cause| Some(cause.message().to_owned())).ok_or(error),
        }
    }

    fn kind(error: &Error) -> ErrorKind {
        kind(error)
    }

    fn is_conflict(error: &Error) -> bool {
        let conflicts = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        error.code().is_some_and(|code| conflicts.contains(code))
    }
}

/// The rows of a statement that is running.
pub(crate) struct OpenRows<'l> {
    stream: Pin<Box<RowStream>>,
    running: &'l AtomicUsize,
}

impl OpenRows<'_> {
    /// Returns the next `size` rows, fewer at the end of the result, and none after the end.
    pub(crate) async fn next(&mut self, size: usize) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::with_capacity(size);
        while rows.len() < size {
            let Some(row) = self.stream.try_next().await? else {
                self.running.fetch_sub(1, Ordering::Relaxed);
                break;
            };
            rows.push(row);
        }
        Ok(rows)
    }
}
