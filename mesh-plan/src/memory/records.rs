//! What do the steps of a read hand on to one another? Rows whose cells are found by where they come from.

use std::borrow::Cow;

use crate::plan::ColumnSource;
use crate::{ResolveError, Value};

/// Rows of a table, or groups of them.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    /// The table, for error texts.
    pub(super) table: String,
    /// What each cell of a row holds.
    pub(super) sources: Vec<ColumnSource>,
    /// Every row has a cell for each source.
    pub(super) rows: Vec<Cow<'a, [Value]>>,
}

impl<'a> Records<'a> {
    /// All rows of a table.
    pub(super) fn of_table(table: String, columns: &[String], rows: &'a [Vec<Value>]) -> Self {
        Self {
            table,
            sources: columns.iter().cloned().map(ColumnSource::Column).collect(),
            rows: rows.iter().map(|row| Cow::Borrowed(row.as_slice())).collect(),
        }
    }

    /// Where the cells of that source stand.
    pub(super) fn place(&self, source: &ColumnSource) -> Result<usize, ResolveError> {
        self.sources.iter().position(|there| there == source).ok_or_else(|| {
            ResolveError::new(format!("the table '{}' in memory has no column '{source}'", self.table))
        })
    }

    /// Where the cells of that storage column stand.
    pub(super) fn column(&self, name: &str) -> Result<usize, ResolveError> {
        self.place(&ColumnSource::Column(name.to_owned()))
    }

    /// Leaves the rows whose cell in that storage column passes.
    pub(super) fn keep(&mut self, column: &str, passes: impl Fn(&Value) -> bool) -> Result<(), ResolveError> {
        let place = self.column(column)?;
        self.rows.retain(|row| row.get(place).is_some_and(&passes));
        Ok(())
    }
}
