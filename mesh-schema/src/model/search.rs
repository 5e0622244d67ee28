//! How the records of an entity are searched.

use crate::{Entity, FieldId, TableName};

/// How the records of an entity are searched for words. `SPEC §20`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The text fields that are searched, at least one.
    pub fields: Vec<FieldId>,
    /// PostgreSQL's text search configuration. Other engines ignore it.
    pub language: String,
    /// The index, if statements have to name it.
    pub index: Option<SearchIndex>,
}

impl Search {
    /// The language of searches that declare none.
    pub const DEFAULT_LANGUAGE: &'static str = "simple";

    /// Returns the columns of the fields. The search must belong to this entity.
    pub fn columns<'e>(&self, entity: &'e Entity) -> Vec<&'e str> {
        self.fields.iter().map(|id| entity.field(*id).column.as_str()).collect()
    }
}

/// A full-text index that statements name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SearchIndex {
    /// SQLite: an FTS5 table over the entity's table.
    Fts5 {
        /// The FTS5 table, whose columns have the names of the columns that it indexes.
        table: TableName,
        /// The column of the entity's table that its row ids refer to.
        key: String,
    },
    /// PostgreSQL: the indexed expression, of type `tsvector`.
    Vector(Vec<SqlPart>),
}

/// A part of an SQL expression over the columns of one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlPart {
    /// SQL text as the database prints it.
    Sql(String),
    /// A column, by its storage name.
    Column(String),
}
