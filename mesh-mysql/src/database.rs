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
use mesh_plan::{Answer, BoxFuture, Context, JsonBody, Plan, ResolveError, Resolver};
use mesh_sql::mysql::MySql;
use mysql_async::prelude::Queryable as _;

use crate::error::{BoxError, OpenError, without_password};
use crate::pool::Pool;
use crate::pool::connect_url::ConnectUrl;
use crate::read::StatementCache;
use crate::settings::Settings;
use crate::{catalog, read};

/// Whether a server replicates transactions to a cluster.
const IS_IN_CLUSTER: &str = "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'";

/// A MariaDB database that is open for reads. Clones share connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Arc<Pool>,
    pub(crate) writes: Arc<Pool>,
    pub(crate) statements: Arc<StatementCache>,
    pub(crate) sort_limit: Arc<SortLimit>,
}

/// Returns the message for a server of another product. MySQL refuses statements that change a table and read it in a
/// subquery, and returns no inserted rows.
fn not_mariadb(version: &str) -> String {
    format!("the server is MySQL {version}, and only MariaDB (10.6 or later) is supported; see docs/mysql.md")
}

impl Database {
    /// Connects to a database.
    ///
    /// # Errors
    /// The URL is invalid, the database cannot be reached, or it is not MariaDB.
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, OpenError> {
        let connecting = async {
            let url = ConnectUrl::parse(url)?;
            // Another provider may already be installed; either one works.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let (_, mut conn) = url.hosts.open(Purpose::Write, &[]).await?;
            let version: Option<String> = conn.query_first("SELECT VERSION()").await?;
            let replicates: Option<(String, String)> = conn.query_first(IS_IN_CLUSTER).await?;
            conn.disconnect().await?;
            if let Some(version) = version.filter(|version| !version.contains("MariaDB")) {
                return Err(not_mariadb(&version).into());
            }
            let is_in_cluster = replicates.is_some_and(|(_, value)| value == "ON");
            let pool = |purpose| Arc::new(Pool::new(url.clone(), settings, purpose, is_in_cluster));
            Ok::<_, BoxError>(Self {
                pool: pool(Purpose::Read),
                writes: pool(Purpose::Write),
                statements: Arc::new(StatementCache::new(MySql)),
                sort_limit: Arc::default(),
            })
        };
        connecting.await.map_err(|cause| OpenError::new(without_password(url), cause))
    }

    /// Reads the catalog. `times` names tables and columns that hold times although their types do not show it
    /// ([`mesh_schema::Document::time_columns`]).
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn contents(&self, times: &[(String, String)]) -> Result<Contents, OpenError> {
        let reading = async { Ok(catalog::read(&mut *self.pool.take(false).await?, times).await?) };
        reading.await.map_err(|error: BoxError| self.open_error(error))
    }

    async fn read(&self, plan: &Plan, context: &Context) -> Result<Answer, ResolveError> {
        let start = Instant::now();
        let deadline = context.deadline.unwrap_or(start + DEFAULT_TIMEOUT);
        // The future is pinned, so that it is not moved into the timeout.
        let reading = pin!(async {
            if plan.related_sort_rows().is_some() {
                self.check_sorts(plan).await?;
            }
            read::run(&self.pool, plan, &self.statements).await
        });
        let reading = tokio::time::timeout_at(deadline.into(), reading);
        let body = reading.await.map_err(|_| ResolveError::TimedOut)??;
        if let Some(trace) = &context.trace {
            trace.record([self.traced(plan, trace, start.elapsed(), &body).await]);
        }
        Ok(Answer::Json(body))
    }

    /// Returns the trace record of a statement.
    async fn traced(&self, plan: &Plan, trace: &Trace, took: Duration, body: &JsonBody) -> TracedStatement {
        let statement = self.statements.of_plan(plan);
        let traced = TracedStatement::new(&*statement.statement.sql, took, body.rows as u64)
            .with_params(read::params(plan, &statement))
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
                read::export::run(&self.pool, plan, export).await
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
