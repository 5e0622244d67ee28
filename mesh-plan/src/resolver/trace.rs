//! A record of the statements that a back end runs for one read, for development.

use std::time::Duration;

use parking_lot::Mutex;

use crate::Value;

/// A collector for the statements of one read, which the [`crate::Context`] of the read carries. It contains names of tables
/// and columns and values of the query, so it is meant for development.
///
/// ```
/// use std::time::Duration;
/// use mesh_plan::backend::{Trace, TracedStatement};
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

/// A statement that was run for a read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TracedStatement {
    /// The dotted path of the plan node that it fetched; empty if it belongs to no node.
    pub path: String,
    /// The text, with placeholders for values.
    pub sql: String,
    /// The bound values, of the first run if the statement was run for several parents.
    pub params: Vec<Value>,
    /// The duration of all runs, excluding the statements of nested nodes.
    pub duration: Duration,
    /// The number of rows of all runs.
    pub rows: u64,
    /// The number of runs.
    pub runs: u64,
    /// The database's query plan, one line for each step, if [`Trace::wants_query_plans`].
    pub query_plan: Vec<String>,
}

impl TracedStatement {
    /// Creates a statement without parameters that ran once.
    pub fn new(sql: impl Into<String>, duration: Duration, rows: u64) -> Self {
        let (path, sql) = (String::new(), sql.into());
        Self { path, sql, params: Vec::new(), duration, rows, runs: 1, query_plan: Vec::new() }
    }

    /// Sets the bound values.
    #[must_use]
    pub fn with_params(mut self, params: impl IntoIterator<Item = Value>) -> Self {
        self.params = params.into_iter().collect();
        self
    }

    /// Sets the plan node that it fetched and the number of runs.
    #[must_use]
    pub fn with_node(mut self, path: impl Into<String>, runs: u64) -> Self {
        (self.path, self.runs) = (path.into(), runs);
        self
    }

    /// Sets the database's query plan.
    #[must_use]
    pub fn with_query_plan(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.query_plan = steps.into_iter().collect();
        self
    }
}

impl Trace {
    /// Creates an empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the database's query plan of each statement, which takes additional time.
    #[must_use]
    pub fn with_query_plans(mut self) -> Self {
        self.query_plans = true;
        self
    }

    /// Returns whether query plans are requested.
    pub fn wants_query_plans(&self) -> bool {
        self.query_plans
    }

    /// Adds statements. A back end that repeats a read records only the last attempt.
    pub fn record(&self, statements: impl IntoIterator<Item = TracedStatement>) {
        self.statements.lock().extend(statements);
    }

    /// Removes and returns the recorded statements in their order.
    pub fn take(&self) -> Vec<TracedStatement> {
        std::mem::take(&mut *self.statements.lock())
    }
}
