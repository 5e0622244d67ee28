//! A database that is open for reads.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_plan::{
    Answer, Context, Either, JsonBody, MaybeReady, Plan, ResolveError, Resolver, Trace, TracedStatement,
    Usage, Value,
};
use mesh_schema::Catalog;

use crate::error::OpenError;
use crate::other_servers::OtherServers;
use crate::pool::connect_url::{ConnectUrl, without_password};
use crate::pool::replicas::Replicas;
use crate::pool::{Pool, PoolError, Purpose};
use crate::read::statement_cache::StatementCache;
use crate::settings::{DEFAULT_TIMEOUT, Settings};
use crate::{catalog, read};

/// A PostgreSQL database that is open for reads. Connections belong to the runtime that opens them. Clones share
/// connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) writes: Arc<Pool>,
    /// Opens the connections that listen.
    pub(crate) listening: Arc<Pool>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) other_servers: Arc<OtherServers>,
    pub(crate) statements: Arc<StatementCache>,
    pub(crate) schemas: Arc<[String]>,
}

/// The contents of a database.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The tables and views.
    pub catalog: Catalog,
    /// Notes for the log: what was left out, and why.
    pub notes: Vec<String>,
}

impl Database {
    /// Connects to a database and detects its features.
    ///
    /// # Errors
    /// The URL is invalid, or the database cannot be reached.
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, OpenError> {
        let refused =
            |cause: Box<dyn StdError + Send + Sync>| OpenError { database: without_password(url), cause };
        let mut target = ConnectUrl::parse(url).map_err(|fault| refused(fault.into()))?;
        let mut pool = Pool::new(target.clone(), settings, Purpose::Read);
        let mut lease = pool.take(false).await.map_err(|error| refused(error.into()))?;
        let client = lease.begin().client();
        let features = catalog::features(client).await.map_err(|error| refused(error.into()))?;
        let path = catalog::search_path(client).await;
        let (schemas, has_mesh_schema) = path.map_err(|error| refused(error.into()))?;
        lease.done();
        drop(lease);
        if has_mesh_schema {
            target.schemas = schemas;
            pool = Pool::new(target.clone(), settings, Purpose::Read);
        }
        let other = |url: &String, settings: &Settings| {
            let target = ConnectUrl::parse(url)
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
            other_servers: Arc::new(OtherServers::new(Arc::clone(&listening), Arc::clone(&replicas))),
            listening,
            pool,
            replicas,
            statements: Arc::new(StatementCache::new(features)),
            schemas: settings.schemas.clone().into(),
        })
    }

    /// Reads the catalog. `times` names tables and columns that hold times although their types do not say so
    /// ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let failed = |cause: Box<dyn StdError + Send + Sync>| OpenError {
            database: self.pool.name().to_owned(),
            cause,
        };
        let mut lease = self.pool.take(false).await.map_err(|error| failed(error.into()))?;
        let client = lease.begin().client();
        // One transaction for a consistent snapshot, and behind a pooler for one connection.
        client.batch_execute(self.pool.begin()).await.map_err(|error| failed(error.into()))?;
        let read = catalog::read(client, &self.schemas, times).await;
        let (catalog, notes) = read.map_err(|error| failed(error.into()))?;
        client.batch_execute("COMMIT").await.map_err(|error| failed(error.into()))?;
        lease.done();
        Ok(Contents { catalog, notes })
    }

    /// Returns the statement of a plan and its query plan, a line for each step.
    ///
    /// # Errors
    /// The statement cannot be prepared.
    pub async fn query_plan(&self, plan: &Plan) -> Result<(String, Vec<String>), ResolveError> {
        let mut lease = self.pool.take(false).await.map_err(read::resolve_error)?;
        let statement = self.statements.of_plan(plan);
        let steps = read::query_plan(lease.begin().client(), plan, &statement.statement).await;
        let steps = steps.map_err(read::resolve_error)?;
        lease.done();
        Ok((statement.statement.to_string(), steps))
    }

    /// Checks that the database responds. If all connections are in use, it does.
    ///
    /// # Errors
    /// The database does not respond.
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

    /// Returns usage figures of the connections for reads.
    pub fn usage(&self) -> Usage {
        self.pool.usage()
    }

    /// Returns the number of idle connections and the maximum number of connections.
    pub fn idle_connections(&self) -> (usize, usize) {
        self.pool.idle()
    }

    /// Returns the number of healthy replicas and the number of all replicas.
    pub fn replicas(&self) -> (usize, usize) {
        (self.replicas.healthy(), self.replicas.len())
    }

    async fn read(&self, plan: Plan, context: Context) -> Result<Answer, ResolveError> {
        let start = Instant::now();
        let deadline = context.deadline.unwrap_or(start + DEFAULT_TIMEOUT);
        let reading = tokio::time::timeout_at(deadline.into(), self.read_any(&plan));
        let body = reading.await.map_err(|_| ResolveError::TimedOut)??;
        if let Some(trace) = &context.trace {
            trace.record([self.traced(&plan, trace, start.elapsed(), &body).await]);
        }
        Ok(Answer::Json(body))
    }

    /// Reads from a replica if this server has received all messages about writes that the read must see, else from the
    /// primary. While the primary is down there are no writes, so then messages need not be complete.
    async fn read_any(&self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        if self.replicas.is_empty() {
            return self.read_primary(plan).await.map_err(ResolveError::from);
        }
        self.replicas.watch(&self.pool);
        self.other_servers.start();
        let is_current = !self.other_servers.is_started()
            || self.other_servers.has_lease()
            || self.replicas.primary_is_down();
        if is_current && let Some(body) = self.read_replica(plan).await {
            return body;
        }
        match self.read_primary(plan).await {
            Err(failure @ (read::Failure::Stale(_) | read::Failure::Unreachable(_))) if !is_current => {
                self.read_replica(plan).await.unwrap_or_else(|| Err(failure.into()))
            }
            result => result.map_err(ResolveError::from),
        }
    }

    /// Reads from a replica; `None` if none is available. A replica that fails a read is left out.
    async fn read_replica(&self, plan: &Plan) -> Option<Result<JsonBody, ResolveError>> {
        let replica = self.replicas.choose()?;
        let mut result = read::run(replica, plan, &self.statements, false).await;
        if let Err(read::Failure::Stale(_)) = result {
            result = read::run(replica, plan, &self.statements, true).await;
        }
        if let Err(read::Failure::Stale(_) | read::Failure::Unreachable(_)) = result {
            self.replicas.leave_out(replica);
            return None;
        }
        Some(result.map_err(ResolveError::from))
    }

    /// Reads from the primary. If the connection is broken or a prepared statement is out of date, tries once more on a
    /// new connection.
    async fn read_primary(&self, plan: &Plan) -> Result<JsonBody, read::Failure> {
        match read::run(&self.pool, plan, &self.statements, false).await {
            Err(read::Failure::Stale(error)) => {
                tracing::debug!("retrying a read on a new connection: {error}");
                read::run(&self.pool, plan, &self.statements, true).await
            }
            result => result,
        }
    }

    /// Returns the record of a statement for a trace.
    async fn traced(&self, plan: &Plan, trace: &Trace, took: Duration, body: &JsonBody) -> TracedStatement {
        let statement = self.statements.of_plan(plan);
        let params = statement
            .statement
            .params
            .iter()
            .map(|param| param.for_read(plan).map_or(Value::Null, |text| Value::Text(text.into_owned())));
        let traced =
            TracedStatement::new(&*statement.statement.sql, took, body.rows as u64).with_params(params);
        let traced = traced.with_node(plan.node().path.clone(), 1);
        if !trace.wants_query_plans() {
            return traced;
        }
        match self.query_plan(plan).await {
            Ok((_, steps)) => traced.with_query_plan(steps),
            Err(_) => traced,
        }
    }
}

impl Resolver for Database {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        Either::Right(Box::pin(self.read(plan.clone(), context.clone())))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}
