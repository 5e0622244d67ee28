//! Statements on tables that Mesh uses itself: accounts, API keys, audit entries and state.

use std::error::Error;

use mesh_plan::{BoxFuture, Value};

use crate::transaction::{Failure, Ran};

/// The cells of a row.
pub type Cells = Vec<Value>;

/// Runs statements on tables that Mesh uses itself. Implemented by back ends.
pub trait Tables: Send + Sync + 'static {
    /// Runs an idempotent statement, and repeats it if its connection is lost. Returns its rows.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    fn read<'a>(&'a self, sql: &'a str, params: &'a [Value])
    -> BoxFuture<'a, Result<Vec<Cells>, TableError>>;

    /// Runs statements in a transaction, all or none. `fresh` asks for a new connection.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses a statement.
    fn transact<'a>(
        &'a self,
        statements: &'a [(&'a str, Cells)],
        fresh: bool,
    ) -> BoxFuture<'a, Result<Vec<Ran<Cells>>, Failure<TableError>>>;

    /// Runs a statement for each list of parameters, all or none, and does not repeat it if its connection is lost. Returns the
    /// number of rows that it returned or, if it returns none, changed.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    fn write<'a>(&'a self, sql: &'a str, params: &'a [Cells]) -> BoxFuture<'a, Result<u64, TableError>> {
        Box::pin(async move {
            let statements: Vec<_> = params.iter().map(|params| (sql, params.clone())).collect();
            let ran = self.transact(&statements, false).await.map_err(|failure| failure.error)?;
            Ok(ran.iter().map(|ran| ran.count).sum())
        })
    }
}

/// The error of a statement on a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The database is unreachable or overloaded. The statement may succeed later.
    #[error(transparent)]
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The statement failed.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

/// Returns a name between marks, as an engine quotes identifiers.
pub fn quoted(name: &str, mark: char) -> String {
    let doubled = String::from_iter([mark, mark]);
    format!("{mark}{}{mark}", name.replace(mark, &doubled))
}

/// Returns a cell as text, whatever its type; `None` for NULL or if there is no such cell.
pub(crate) fn text(row: &[Value], index: usize) -> Option<String> {
    match row.get(index)? {
        Value::Null => None,
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Real(value) => Some(value.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::InvalidText(bytes) | Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}
