//! Searches of rows.

use crate::plan::{ColumnSource, Search};
use crate::value::search::SearchText;
use crate::{ResolveError, Value};

/// A search with the positions of the cells that it searches.
pub(in crate::rows) struct SearchCells {
    text: SearchText,
    positions: Vec<usize>,
}

impl SearchCells {
    /// Prepares a search, whose text may be one of the inputs, for rows with these sources.
    pub(in crate::rows) fn new(
        sources: &[Option<ColumnSource>],
        search: &Search,
        inputs: &[Value],
    ) -> Result<Self, ResolveError> {
        let position = |column: &String| {
            let wanted = ColumnSource::Column(column.clone());
            let found = sources.iter().position(|source| source.as_ref() == Some(&wanted));
            found.ok_or_else(|| ResolveError::new(format!("the rows lack the column '{column}' of a search")))
        };
        let positions = search.columns.iter().map(position).collect::<Result<_, _>>()?;
        Ok(Self { text: SearchText::parse(search.text.text(inputs)), positions })
    }

    /// Returns whether a row contains the words.
    pub(super) fn matches(&self, row: &[Value]) -> bool {
        self.text.matches(&self.texts(row))
    }

    /// Returns how often the words occur in a row.
    pub(in crate::rows) fn relevance(&self, row: &[Value]) -> Value {
        Value::Integer(self.text.occurrences(&self.texts(row)) as i64)
    }

    fn texts<'r>(&self, row: &'r [Value]) -> Vec<&'r str> {
        let cells = self.positions.iter().filter_map(|position| match row.get(*position) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        cells.collect()
    }
}
