//! Rows under evaluation, with cells that are found by their source.

use std::borrow::Cow;
use std::ops::Deref;

use crate::plan::ColumnSource;
use crate::{ResolveError, Value};

/// Rows of a table, or groups of them.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    /// What the rows are, for error messages: `the rows of post.comments`.
    pub(crate) description: Cow<'a, str>,
    /// What each cell of a row holds; `None` for a column that no plan refers to.
    pub(crate) sources: Cow<'a, [Option<ColumnSource>]>,
    pub(crate) rows: Vec<Row<'a>>,
}

/// The cells of a row, one for each source.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    /// The row's index in its table; 0 for a group.
    pub(crate) index: usize,
    pub(crate) cells: Cow<'a, [Value]>,
}

impl Deref for Row<'_> {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.cells
    }
}

impl Records<'_> {
    /// Returns the index of the cells of a source.
    pub(crate) fn position(&self, source: &ColumnSource) -> Result<usize, ResolveError> {
        self.find(source).ok_or_else(|| {
            ResolveError::new(format!("there is no column '{source}' in {}", self.description))
        })
    }

    /// Returns the index of the cells of a source, if there are any.
    pub(crate) fn find(&self, source: &ColumnSource) -> Option<usize> {
        self.sources.iter().position(|known| known.as_ref() == Some(source))
    }

    /// Returns the index of the cells of a storage column.
    pub(crate) fn column(&self, name: &str) -> Result<usize, ResolveError> {
        self.position(&ColumnSource::Column(name.to_owned()))
    }

    /// Keeps the rows with a cell in this storage column that passes.
    pub(crate) fn keep(&mut self, column: &str, passes: impl Fn(&Value) -> bool) -> Result<(), ResolveError> {
        let position = self.column(column)?;
        self.rows.retain(|row| row.get(position).is_some_and(&passes));
        Ok(())
    }
}
