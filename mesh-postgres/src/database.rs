//! A database that is open for reads.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::Contents;
use mesh_backend::backend::Backend as _;
use mesh_backend::pool::Purpose;
use mesh_backend::sort_limit::SortLimit;
use mesh_backend::transaction::{self, DEFAULT_TIMEOUT};
use mesh_plan::backend::{
    Either, Export, MaybeReady, Script, ScriptError, StepResult, Trace, TracedStatement,
};
use mesh_plan::{Answer, BoxFuture, Context, JsonBody, Plan, ResolveError, Resolver, Value};

use crate::error::{BoxError, OpenError, without_password};
use crate::other_servers::OtherServers;
use crate::pool::Pool;
use crate::pool::connect_url::ConnectUrl;
use crate::pool::hosts::PRIMARY_DOWN_TIME;
use crate::pool::role::SessionAttrs;
use crate::read::StatementCache;
use crate::replicas::Replicas;
use crate::settings::Settings;
use crate::sql::TextParam;
use crate::{catalog, read, sql};

/// The interval between attempts of a read that no server can answer.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A PostgreSQL database that is open for reads. Connections belong to the runtime that opens them. Clones share
/// connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) writes: Arc<Pool>,
    /// The pool that opens the connections for listening.
    pub(crate) listening: Arc<Pool>,
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) other_servers: Arc<OtherServers>,
    pub(crate) statements: Arc<StatementCache>,
    pub(crate) sort_limit: Arc<SortLimit>,
    pub(crate) schemas: Arc<[String]>,
}

impl Database {
    /// Connects to a database and detects its features.
    ///
    /// # Errors
    /// The URL is invalid, or the database cannot be reached.
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, OpenError> {
        let connecting = async {
            let mut primary = ConnectUrl::parse(url)?;
            let first = Pool::new(primary.clone(), settings, Purpose::Read);
            let connection = first.take(false).await?;
            if catalog::skips_constraints(&connection).await? {
                return Err("the setting session_replication_role of this account or database is 'replica', so foreign keys and \
                            triggers would not apply to writes: reset it with ALTER ROLE or ALTER DATABASE"
                    .into());
            }
            let schemas = catalog::search_path(&connection).await?;
            let dialect = catalog::dialect(&connection, &schemas).await?;
            for schema in catalog::open_schemas(&connection, &schemas).await? {
                tracing::warn!(
                    "other accounts may create objects in the schema '{schema}', which is in the search path: functions and \
                     operators of theirs could run in triggers and views of the database; \
                     REVOKE CREATE ON SCHEMA {} FROM them",
                    sql::identifier(&schema)
                );
            }
            primary.schemas = Some(schemas);
            let parse = |url: &String| {
                let mut other = ConnectUrl::parse(url)?;
                other.schemas.clone_from(&primary.schemas);
                Ok::<_, BoxError>(other)
            };
            let open = |url| Arc::new(Pool::new(url, settings, Purpose::Read));
            let mut replicas = Vec::new();
            for url in &settings.replicas {
                let url = parse(url)?;
                // Each host is a separate replica, because each has its own position in the log.
                replicas.extend(url.split(url.hosts.attrs).into_iter().map(open));
            }
            let spares = match primary.hosts.attrs.is_primary() && primary.hosts.count() > 1 {
                true => primary.split(SessionAttrs::Any).into_iter().map(open).collect(),
                false => Vec::new(),
            };
            let replicas = Arc::new(Replicas::new(replicas, spares, settings.lag));
            let pool = open(primary.clone());
            let listening = match &settings.listen_url {
                Some(url) => {
                    let settings = Settings { pooler: false, ..settings.clone() };
                    Arc::new(Pool::new(parse(url)?, &settings, Purpose::Read))
                }
                None => Arc::clone(&pool),
            };
            Ok(Self {
                writes: Arc::new(Pool::new(primary.clone(), settings, Purpose::Write)),
                other_servers: Arc::new(OtherServers::new(Arc::clone(&listening), Arc::clone(&replicas))),
                listening,
                pool,
                replicas,
                statements: Arc::new(StatementCache::new(dialect)),
                sort_limit: Arc::default(),
                schemas: settings.schemas.clone().into(),
            })
        };
        connecting.await.map_err(|cause: BoxError| OpenError::new(without_password(url), cause))
    }

    /// Returns the schema of unqualified tables.
    pub(crate) fn default_schema(&self) -> Option<&String> {
        self.statements.dialect.default_schema.as_ref()
    }

    /// Reads the catalog. `times` names tables and columns that hold times although their types do not show it
    /// ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let reading = async {
            let connection = self.pool.take(false).await?;
            // One transaction gives a consistent snapshot and, behind a pooler, a single connection.
            connection.begin().await?;
            let schemas = (&*self.schemas, self.default_schema());
            let contents = catalog::read(&connection, schemas, times).await?;
            connection.end("COMMIT").await?;
            Ok(contents)
        };
        reading.await.map_err(|error: BoxError| self.open_error(error))
    }

    async fn read(&self, plan: &Plan, context: &Context) -> Result<Answer, ResolveError> {
        let start = Instant::now();
        let deadline = context.deadline.unwrap_or(start + DEFAULT_TIMEOUT);
        let plan = &*self.statements.dialect.charset.known_plan(plan);
        // The future is pinned, so that it is not moved into the timeout.
        let reading = pin!(async {
            if plan.related_sort_rows().is_some() {
                self.check_sorts(plan).await?;
            }
            self.read_any(plan, deadline).await
        });
        let reading = tokio::time::timeout_at(deadline.into(), reading);
        let body = reading.await.map_err(|_| ResolveError::TimedOut)??;
        if let Some(trace) = &context.trace {
            trace.record([Box::pin(self.traced(plan, trace, start.elapsed(), &body)).await]);
        }
        Ok(Answer::Json(body))
    }

    /// Reads from a replica if this server has heard of all writes that the read must see, else from the primary.
    async fn read_any(&self, plan: &Plan, deadline: Instant) -> Result<JsonBody, ResolveError> {
        if self.replicas.is_empty() {
            return read::run(&self.pool, plan, &self.statements).await?;
        }
        self.replicas.watch(&self.pool);
        self.other_servers.start();
        let start = Instant::now();
        loop {
            let is_down = self.replicas.primary_is_down();
            if (is_down || self.replicas.can_answer() && self.knows_writes().await)
                && let Some(result) = self.read_replica(plan, is_down).await
            {
                return result;
            }
            let error = match read::run(&self.pool, plan, &self.statements).await {
                Ok(result) => return result,
                Err(error) => error,
            };
            if Instant::now() + RETRY_INTERVAL > self.retry_deadline(start, deadline) {
                return Err(error.into());
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Waits until this server has heard of all writes up to now. Returns whether it has. Behind a pooler, it is notified
    /// only of its own.
    async fn knows_writes(&self) -> bool {
        !self.other_servers.is_started() || self.other_servers.catch_up().await
    }

    /// Returns the time until which a read waits if neither the primary nor a replica can answer it. By then a poll has
    /// noticed that there is no primary, a standby has been promoted, or a standby has replayed the writes that the
    /// read must see.
    fn retry_deadline(&self, start: Instant, deadline: Instant) -> Instant {
        let hosts = self.pool.hosts();
        let may_be_promoted = hosts.attrs.is_primary() && hosts.count() > 1;
        match (may_be_promoted, self.replicas.healthy() > 0) {
            (true, true) => deadline,
            (true, false) => deadline.min(start + self.pool.wait()),
            (false, true) => deadline.min(start + PRIMARY_DOWN_TIME),
            (false, false) => start,
        }
    }

    /// Reads from a replica; `None` if none is available. A replica that fails a read is excluded.
    async fn read_replica(
        &self,
        plan: &Plan,
        primary_is_down: bool,
    ) -> Option<Result<JsonBody, ResolveError>> {
        let replica = self.replicas.choose(primary_is_down)?;
        let result = read::run(&replica.pool, plan, &self.statements).await;
        if result.is_err() {
            replica.exclude();
        }
        result.ok()
    }

    /// Returns the trace record of a statement.
    async fn traced(&self, plan: &Plan, trace: &Trace, took: Duration, body: &JsonBody) -> TracedStatement {
        let statement = self.statements.of_plan(plan);
        let params = read::params(plan, &statement).into_iter().map(|TextParam(text)| match text {
            Some(text) => Value::Text(text.into_owned()),
            None => Value::Null,
        });
        let traced = TracedStatement::new(&*statement.statement.sql, took, body.rows as u64)
            .with_params(params)
            .with_node(plan.node().path.clone(), 1);
        if !trace.wants_query_plans() {
            return traced;
        }
        match self.query_plan(plan).await {
            Ok(statements) => traced.with_query_plan(statements.into_iter().flat_map(|(_, steps)| steps)),
            Err(error) => traced.with_query_plan([format!("no query plan: {error}")]),
        }
    }
}

impl Resolver for Database {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        Either::Right(Box::pin(self.read(plan, context)))
    }

    fn read_script<'a>(
        &'a self,
        script: Arc<dyn Script>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Vec<StepResult>, ScriptError>>> {
        Some(Box::pin(async move { transaction::read(&self.snapshots(), &*script, context).await }))
    }

    fn export<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
        export: Export,
    ) -> BoxFuture<'a, Result<u64, ResolveError>> {
        Box::pin(async move {
            let deadline = context.deadline.unwrap_or_else(|| Instant::now() + DEFAULT_TIMEOUT);
            let exporting = async {
                if plan.related_sort_rows().is_some() {
                    self.check_sorts(plan).await?;
                }
                let dialect = &self.statements.dialect;
                read::export::run(&self.pool, &dialect.charset.known_plan(plan), dialect, deadline, export)
                    .await
            };
            let exporting = tokio::time::timeout_at(deadline.into(), exporting);
            exporting.await.map_err(|_| ResolveError::TimedOut)?
        })
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("database", &self.pool.name()).finish_non_exhaustive()
    }
}
