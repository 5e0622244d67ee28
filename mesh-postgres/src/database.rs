//! A PostgreSQL database as the data source of a Mesh service: a resolver for every entity of a schema, with one
//! statement per read.

#![deny(missing_docs)]

mod accounts;
mod catalog;
mod cells;
mod changes;
mod peers;
mod pool;
mod read;
mod replicas;
mod state;
mod statements;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod triggers;
mod write;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{
    Answer, Context, Either, JsonBody, MaybeReady, Plan, ResolveError, Resolver, Trace, TracedStatement,
    Value,
};
use mesh_schema::Catalog;

pub use accounts::PostgresAccounts;
use mesh_plan::Usage;
use peers::Peers;
use pool::{Pool, PoolError, Purpose};
use replicas::Replicas;
pub use state::PostgresState;
use statements::StatementCache;
use target::{Target, without_password};
pub use write::PostgresWriter;

/// How long a read may take that comes without a deadline.
const WITHOUT_DEADLINE: Duration = Duration::from_secs(60);

/// How a database is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The most connections that are open to one server at a time.
    pub connections: usize,
    /// How long a request waits for a connection before it is refused.
    pub wait: Duration,
    /// After how long the database itself ends a statement.
    pub statement_timeout: Duration,
    /// Whether there is a pooler between that gives every transaction another connection: then nothing is
    /// prepared, and no setting outlives a transaction.
    pub pooler: bool,
    /// The address of the primary itself, where `pooler` is set: connections that listen go there. Without it
    /// nothing is heard of what other servers tell, and changes are looked for.
    pub listen_url: Option<String>,
    /// Servers that follow the one that is written to. Reads go to them.
    pub replicas: Vec<String>,
    /// How far behind a replica may be.
    pub lag: Duration,
    /// The namespaces to serve, the default one first; empty: the one that names without a namespace mean.
    pub schemas: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16,
            wait: Duration::from_secs(2),
            statement_timeout: WITHOUT_DEADLINE,
            pooler: false,
            listen_url: None,
            replicas: Vec::new(),
            lag: Duration::from_secs(5),
            schemas: Vec::new(),
        }
    }
}

/// A PostgreSQL database. Connections belong to the runtime in which they are first needed.
#[derive(Clone)]
pub struct Postgres {
    pool: Arc<Pool>,
    writes: Arc<Pool>,
    /// Where connections that listen come from.
    listening: Arc<Pool>,
    replicas: Arc<Replicas>,
    peers: Arc<Peers>,
    statements: Arc<StatementCache>,
    schemas: Arc<[String]>,
}

/// What a database contains, and what of it was left out and why.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The tables and views.
    pub catalog: Catalog,
    /// Remarks for whoever runs the server.
    pub notes: Vec<String>,
}

/// The database could not be reached or read.
#[derive(Debug)]
pub struct OpenError {
    database: String,
    cause: Box<dyn StdError + Send + Sync>,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the database {}: {}", self.database, self.cause)?;
        let mut source = self.cause.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for OpenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

impl Postgres {
    /// Connects to a database once, which shows that it can be read and what it can do.
    ///
    /// # Errors
    /// When the URL is none, or the database cannot be reached.
    pub async fn open(url: &str, settings: &Settings) -> Result<Self, OpenError> {
        let refused =
            |cause: Box<dyn StdError + Send + Sync>| OpenError { database: without_password(url), cause };
        let mut target = Target::parse(url).map_err(|fault| refused(fault.into()))?;
        let mut pool = Pool::new(target.clone(), settings, Purpose::Read);
        let mut lease = pool.take(false).await.map_err(|error| refused(error.into()))?;
        let client = lease.begin().client();
        let features = catalog::features(client).await.map_err(|error| refused(error.into()))?;
        let path = catalog::search_path(client).await;
        let (path, has_own) = path.map_err(|error| refused(error.into()))?;
        lease.done();
        drop(lease);
        if has_own {
            target.path = path;
            pool = Pool::new(target.clone(), settings, Purpose::Read);
        }
        let other = |url: &String, settings: &Settings| {
            let target = Target::parse(url)
                .map_err(|fault| OpenError { database: without_password(url), cause: fault.into() })?;
            Ok(Arc::new(Pool::new(target, settings, Purpose::Read)))
        };
        let replicas = settings.replicas.iter().map(|url| other(url, settings));
        let replicas = Replicas::new(replicas.collect::<Result<_, OpenError>>()?, settings.lag);
        let (pool, replicas) = (Arc::new(pool), Arc::new(replicas));
        let listening = match &settings.listen_url {
            Some(url) => other(url, &Settings { pooler: false, ..settings.clone() })?,
            None => Arc::clone(&pool),
        };
        Ok(Self {
            writes: Arc::new(Pool::new(target, settings, Purpose::Write)),
            peers: Arc::new(Peers::new(Arc::clone(&listening), Arc::clone(&replicas))),
            listening,
            pool,
            replicas,
            statements: Arc::new(StatementCache::new(features)),
            schemas: settings.schemas.clone().into(),
        })
    }

    /// Reads what the database contains. `times` names tables and columns that hold times though their types
    /// do not say so ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let failed = |cause: Box<dyn StdError + Send + Sync>| OpenError {
            database: self.pool.name().to_owned(),
            cause,
        };
        let mut lease = self.pool.take(false).await.map_err(|error| failed(error.into()))?;
        let client = lease.begin().client();
        // One moment for all of it, and behind a pooler one connection.
        client.batch_execute(&self.pool.begin()).await.map_err(|error| failed(error.into()))?;
        let read = catalog::read(client, &self.schemas, times).await;
        let (catalog, notes) = read.map_err(|error| failed(error.into()))?;
        client.batch_execute("COMMIT").await.map_err(|error| failed(error.into()))?;
        lease.done();
        Ok(Contents { catalog, notes })
    }

    /// The database's own account of how it would run a plan's statement: its text, and a line for each step.
    ///
    /// # Errors
    /// When the statement cannot be prepared.
    pub async fn query_plan(&self, plan: &Plan) -> Result<(String, Vec<String>), ResolveError> {
        let mut lease = self.pool.take(false).await.map_err(read::failed)?;
        let statement = self.statements.of_plan(plan);
        let steps = read::query_plan(lease.begin().client(), plan, &statement.statement).await;
        let steps = steps.map_err(read::failed)?;
        lease.done();
        Ok((statement.statement.to_string(), steps))
    }

    /// Makes sure that the database answers. One whose connections are all in use does.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), OpenError> {
        let failed = |cause: Box<dyn StdError + Send + Sync>| OpenError {
            database: self.pool.name().to_owned(),
            cause,
        };
        let mut lease = match self.pool.take(false).await {
            Err(PoolError::Exhausted) => return Ok(()),
            lease => lease.map_err(|error| failed(error.into()))?,
        };
        let answered = lease.begin().client().batch_execute("SELECT 1").await;
        lease.done();
        answered.map_err(|error| failed(error.into()))
    }

    /// What of the connections for reads is in use.
    pub fn usage(&self) -> Usage {
        self.pool.usage()
    }

    /// Connections that are open and not in use, and the most there can be.
    pub fn idle_connections(&self) -> (usize, usize) {
        self.pool.idle()
    }

    /// How many replicas answer reads now, and how many there are.
    pub fn replicas(&self) -> (usize, usize) {
        (self.replicas.healthy(), self.replicas.len())
    }

    async fn read(&self, plan: Plan, context: Context) -> Result<Answer, ResolveError> {
        let start = Instant::now();
        let deadline = context.deadline.unwrap_or(start + WITHOUT_DEADLINE);
        let reading = tokio::time::timeout_at(deadline.into(), self.read_somewhere(&plan));
        let body = reading.await.map_err(|_| ResolveError::TimedOut)??;
        if let Some(trace) = &context.trace {
            trace.record([self.traced(&plan, trace, start.elapsed(), &body).await]);
        }
        Ok(Answer::Json(body))
    }

    /// A read goes to a replica only where this server knows of all writes that it has to see. That it cannot where
    /// it does not hear the other servers; but while the primary is away nobody writes.
    async fn read_somewhere(&self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if self.replicas.are_none() {
            return self.read_primary(plan).await.map_err(ResolveError::from);
        }
        self.replicas.watch(&self.pool);
        self.peers.start();
        let knows = !self.peers.is_started() || self.peers.has_heard_all() || self.replicas.primary_is_away();
        if knows && let Some(body) = self.read_replica(plan).await {
            return body;
        }
        match self.read_primary(plan).await {
            Err(failure @ (read::Failure::Stale(_) | read::Failure::Away(_))) if !knows => {
                self.read_replica(plan).await.unwrap_or_else(|| Err(failure.into()))
            }
            result => result.map_err(ResolveError::from),
        }
    }

    /// Nothing where there is no replica to answer. One that fails a read is left out.
    async fn read_replica(&self, plan: &Plan) -> Option<Result<JsonBody, ResolveError>> {
        let replica = self.replicas.choose()?;
        let mut result = read::run(replica, plan, &self.statements, false).await;
        if let Err(read::Failure::Stale(_)) = result {
            result = read::run(replica, plan, &self.statements, true).await;
        }
        if let Err(read::Failure::Stale(_) | read::Failure::Away(_)) = result {
            self.replicas.leave_out(replica);
            return None;
        }
        Some(result.map_err(ResolveError::from))
    }

    /// A read that finds its connection broken, or its prepared statement out of date, begins once more on a
    /// new one.
    async fn read_primary(&self, plan: &Plan) -> Result<JsonBody, read::Failure> {
        match read::run(&self.pool, plan, &self.statements, false).await {
            Err(read::Failure::Stale(error)) => {
                tracing::debug!("a read begins once more on another connection: {error}");
                read::run(&self.pool, plan, &self.statements, true).await
            }
            result => result,
        }
    }

    /// The statement of a read, for those who want to see it.
    async fn traced(&self, plan: &Plan, trace: &Trace, took: Duration, body: &JsonBody) -> TracedStatement {
        let statement = self.statements.of_plan(plan);
        let params = statement
            .statement
            .params
            .iter()
            .map(|param| param.for_read(plan).map_or(Value::Null, |text| Value::Text(text.into_owned())));
        let traced =
            TracedStatement::new(&*statement.statement.sql, took, body.rows as u64).with_params(params);
        let traced = traced.of_node(plan.node().path.clone(), 1);
        if !trace.wants_query_plans() {
            return traced;
        }
        match self.query_plan(plan).await {
            Ok((_, steps)) => traced.with_query_plan(steps),
            Err(_) => traced,
        }
    }
}

impl Resolver for Postgres {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        Either::Right(Box::pin(self.read(plan.clone(), context.clone())))
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
