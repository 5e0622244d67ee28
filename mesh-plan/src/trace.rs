//! What did the back end do for one read? Its statements, for whoever develops against the server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::Value;

/// Collects the statements of one read, when its [`crate::Context`] carries one. Meant for development: what
/// is in it names tables and columns, and has values of the query.
///
/// ```
/// use std::time::Duration;
/// use mesh_plan::{Trace, TracedStatement};
///
/// let trace = Trace::new();
/// trace.record([TracedStatement::new("SELECT 1", Duration::from_micros(3), 1)]);
/// assert_eq!(trace.take().len(), 1);
/// assert!(trace.take().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Trace {
    statements: Mutex<Vec<TracedStatement>>,
    query_plans: bool,
}

/// A statement that ran for a read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracedStatement {
    /// The dotted refs of the plan node that it fetched; empty where it belongs to none.
    pub path: String,
    /// The text, values left out.
    pub sql: String,
    /// What was bound; of a statement that ran for many parents, what was bound in its first run.
    pub params: Vec<Value>,
    /// How long it took, all runs together and without the statements below it.
    pub duration: Duration,
    /// How many rows came, all runs together.
    pub rows: u64,
    /// How many times it ran.
    pub runs: u64,
    /// The database's own account of how it runs, a line for each step, if [`Trace::wants_query_plans`].
    pub query_plan: Vec<String>,
}

impl TracedStatement {
    /// A statement without parameters that ran once.
    pub fn new(sql: impl Into<String>, duration: Duration, rows: u64) -> Self {
        let (path, sql) = (String::new(), sql.into());
        Self { path, sql, params: Vec::new(), duration, rows, runs: 1, query_plan: Vec::new() }
    }

    /// The same with what was bound.
    #[must_use]
    pub fn with_params(mut self, params: impl IntoIterator<Item = Value>) -> Self {
        self.params = params.into_iter().collect();
        self
    }

    /// The same with the plan node that it fetched, and how many times it ran for that.
    #[must_use]
    pub fn of_node(mut self, path: impl Into<String>, runs: u64) -> Self {
        (self.path, self.runs) = (path.into(), runs);
        self
    }

    /// The same with the database's account of it.
    #[must_use]
    pub fn with_query_plan(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.query_plan = steps.into_iter().collect();
        self
    }
}

impl Trace {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, asking back ends for the database's query plan of each statement, which costs time.
    #[must_use]
    pub fn with_query_plans(mut self) -> Self {
        self.query_plans = true;
        self
    }

    /// Whether the database's query plans are asked for.
    pub fn wants_query_plans(&self) -> bool {
        self.query_plans
    }

    /// Adds statements. A back end that has to begin a read again records only the run that counted.
    pub fn record(&self, statements: impl IntoIterator<Item = TracedStatement>) {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).extend(statements);
    }

    /// Takes what was recorded, in its order.
    pub fn take(&self) -> Vec<TracedStatement> {
        std::mem::take(&mut *self.statements.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
