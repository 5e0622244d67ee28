//! Tables of the served database that Mesh uses itself: API keys and audit entries.

use std::fmt;
use std::sync::Arc;

use crate::tables::Tables;

/// A table, as its database has it.
pub struct OwnTable {
    /// The name in the settings.
    pub name: String,
    /// The name as it is quoted in statements.
    pub quoted: String,
    /// The names and types of its columns; empty if there is no such table.
    pub columns: Vec<(String, String)>,
    /// Runs statements that read the table.
    pub reads: Arc<dyn Tables>,
    /// Runs statements that change it.
    pub writes: Arc<dyn Tables>,
    /// The SQL of its engine.
    pub dialect: &'static TableDialect,
}

impl OwnTable {
    /// Returns the type of a column; `None` if there is no such column.
    pub fn column_type(&self, name: &str) -> Option<&str> {
        let mut columns = self.columns.iter();
        columns.find(|(column, _)| (self.dialect.is_same)(column, name)).map(|(_, ty)| ty.as_str())
    }

    /// Returns the names of its columns.
    pub fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|(column, _)| column.clone()).collect()
    }
}

impl fmt::Debug for OwnTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnTable").field("quoted", &self.quoted).finish_non_exhaustive()
    }
}

/// The SQL of an engine for tables that Mesh uses itself.
#[derive(Debug)]
pub struct TableDialect {
    /// Compares the name of a column with a name.
    pub is_same: fn(&str, &str) -> bool,
    /// The SQL for API keys.
    pub api_keys: ApiKeyDialect,
    /// The types of the time, the event and the entry of an audit entry.
    pub audit_types: [&'static str; 3],
    /// Parameters of these types.
    pub audit_params: [&'static str; 3],
}

/// The SQL of an engine for a table of API keys.
#[derive(Debug)]
pub struct ApiKeyDialect {
    /// The types that the columns may have; `None` if they may have any.
    pub types: Option<ColumnTypes>,
    /// The types of the hash and the time in a new table.
    pub new_types: [&'static str; 2],
    /// The hash, the owner and the role as texts, and the time in seconds since 1970.
    pub selected: &'static str,
    /// The operator for equal hashes.
    pub equals: &'static str,
    /// The parameters with a hash, an owner, a role, and a time in UTC like `2030-01-02T03:04:05Z`.
    pub params: [&'static str; 4],
}

/// The accepted types of the columns of hashes and times, and their names in messages.
#[derive(Debug)]
pub struct ColumnTypes {
    /// The types of texts.
    pub texts: &'static [&'static str],
    /// The types of bytes.
    pub bytes: &'static [&'static str],
    /// The types of times.
    pub times: &'static [&'static str],
    /// The types of the column of hashes, for messages.
    pub hash: &'static str,
    /// The types of the column of times, for messages.
    pub expires: &'static str,
}
