//! Rows under evaluation, with cells that are found by their source.

use std::borrow::Cow;
use std::ops::Deref;

use crate::ResolveError;
use crate::Value;
use crate::plan::ColumnSource;

/// Rows of a table, or groups of them.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    /// The path of the node, for error messages.
    pub(crate) path: &'a str,
    /// The source of each cell of a row; `None` for a column that the plan does not use.
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
            ResolveError::new(format!("there is no column '{source}' in the rows of {}", self.path))
        })
    }

    /// Returns the index of the cells of a source, if there are any.
    pub(crate) fn find(&self, source: &ColumnSource) -> Option<usize> {
        self.sources.iter().position(|known| known.as_ref() == Some(source))
    }
}
