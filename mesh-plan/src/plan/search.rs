//! Searches of records.

use mesh_schema::SearchIndex;

use super::Comparand;

/// A search of the records of one table for the words of a text ([`crate::backend::SearchText`]). It is never unknown. `SPEC §20`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Search {
    /// The storage columns that are searched, at least one.
    pub columns: Vec<String>,
    /// The text, which has a word to look for.
    pub text: Comparand<String>,
    /// PostgreSQL's text search configuration.
    pub language: String,
    /// The index, if statements have to name it.
    pub index: Option<SearchIndex>,
}
