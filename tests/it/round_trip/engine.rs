//! Descriptions of engines: column types with their values, and the database's own client.

use mesh_tests::{Cluster, Database, MariaDb};
use rusqlite::types::ValueRef;

/// The operators that a field takes, besides `isNull` and `isNotNull`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operators {
    All,
    /// `eq`, `ne`, `in` and `nin`.
    Equality,
    None,
}

/// Whether a column of a type can be the key of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// It can be a key, and a foreign key refer to it.
    Referable,
    /// It can be a key, but no foreign key can refer to it.
    Single,
    /// The database accepts such a key, but the entity has no id.
    Hidden,
    /// The database accepts no such key.
    Impossible,
}

/// A column type with values.
#[derive(Clone, Debug)]
pub(super) struct ColumnType {
    /// The type as it is declared, with what follows it in a definition of a column.
    pub(super) declared: &'static str,
    /// Values as SQL expressions. Values of a key must differ.
    pub(super) values: &'static [&'static str],
    /// An SQL expression whose value is another one at each evaluation.
    pub(super) random: Option<&'static str>,
    /// The operators that the field takes.
    pub(super) operators: Operators,
    /// Whether records can be ordered and grouped by the field.
    pub(super) has_order: bool,
    /// Whether the column can be a key.
    pub(super) key: Key,
    /// Whether some values, such as NaN, are read as `null`.
    pub(super) reads_null: bool,
    /// An SQL expression over the column `v` that shows whether two values are the same.
    pub(super) shown: &'static str,
}

impl ColumnType {
    /// Describes a type that can be compared and ordered, and be a key.
    pub(super) const fn new(declared: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            declared,
            values,
            random: None,
            operators: Operators::All,
            has_order: true,
            key: Key::Referable,
            reads_null: false,
            shown: "v",
        }
    }

    pub(super) const fn random(self, random: &'static str) -> Self {
        Self { random: Some(random), ..self }
    }

    /// Makes the field take `eq`, `ne`, `in` and `nin` only.
    pub(super) const fn equality(self) -> Self {
        Self { operators: Operators::Equality, ..self }
    }

    /// Makes the field take no comparison, though it may be a key, and records can be ordered by it.
    pub(super) const fn no_operators(self) -> Self {
        Self { operators: Operators::None, ..self }
    }

    /// Makes the field take no comparison, be no key, and not order records.
    pub(super) const fn incomparable(self, key: Key) -> Self {
        let ty = self.no_operators().key(key);
        Self { has_order: false, ..ty }
    }

    pub(super) const fn key(self, key: Key) -> Self {
        Self { key, ..self }
    }

    /// Permits that some values are read as `null`.
    pub(super) const fn reads_null(self) -> Self {
        Self { reads_null: true, ..self }
    }

    pub(super) const fn shown(self, shown: &'static str) -> Self {
        Self { shown, ..self }
    }
}

/// The database's own client.
pub(super) trait Client {
    /// Creates a database and returns its URL.
    fn create(&self, name: &str, statements: &str) -> String;

    /// Returns the rows of a statement in that database.
    fn rows(&self, database: &str, statement: &str) -> String;

    /// Removes the database.
    fn remove(&self, database: &str);
}

impl Client for Cluster {
    fn create(&self, name: &str, statements: &str) -> String {
        self.database(name, statements)
    }

    fn rows(&self, database: &str, statement: &str) -> String {
        self.query_in(database, statement).unwrap()
    }

    fn remove(&self, database: &str) {
        self.execute(&format!("DROP DATABASE {database} WITH (FORCE)"));
    }
}

impl Client for MariaDb {
    fn create(&self, name: &str, statements: &str) -> String {
        self.database(name, statements)
    }

    fn rows(&self, database: &str, statement: &str) -> String {
        self.query(&format!("USE {database}; {statement}")).unwrap()
    }

    fn remove(&self, database: &str) {
        self.execute(&format!("DROP DATABASE {database}"));
    }
}

/// SQLite with all tables in one file.
impl Client for Database {
    fn create(&self, _name: &str, statements: &str) -> String {
        self.connect().execute_batch(statements).unwrap();
        self.url()
    }

    fn rows(&self, _database: &str, statement: &str) -> String {
        let connection = self.connect();
        let mut statement = connection.prepare(statement).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut all = String::new();
        while let Some(row) = rows.next().unwrap() {
            let cells = (0..columns).map(|index| match row.get_ref(index).unwrap() {
                ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
                other => format!("{other:?}"),
            });
            all += &cells.collect::<Vec<_>>().join("|");
            all.push('\n');
        }
        all
    }

    fn remove(&self, _database: &str) {
        let connection = self.connect();
        let tables = "SELECT group_concat('DROP TABLE \"' || name || '\";', '') FROM sqlite_schema WHERE type = 'table'";
        let drops: String = connection.query_row(tables, [], |row| row.get(0)).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {drops}")).unwrap();
    }
}
