//! The contents of a database, independent of its kind. Back ends fill a catalog; the loader and inference read it.

mod cells;

use crate::{FieldType, SqlPart, TableName};

pub use cells::CellKinds;

/// The tables and views of one database, in no particular order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// Tables and views.
    pub tables: Vec<Table>,
    /// How the database finds words.
    pub text_search: TextSearch,
}

/// How a database finds words, which decides what a search needs. `SPEC §20.1`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TextSearch {
    /// Unknown: searches are not checked.
    #[default]
    Unknown,
    /// With FTS5 tables of SQLite.
    Fts5,
    /// With the text search configurations of PostgreSQL, which need no index.
    Configurations(Vec<Configuration>),
    /// With FULLTEXT indexes of MySQL or MariaDB.
    FullText,
}

/// A text search configuration of PostgreSQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The name that the server prints for a `regconfig`: without a schema if the search path leads to it.
    pub name: String,
    /// The name with its schema.
    pub qualified: String,
}

/// A table or a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The namespace; `None` for the default one.
    pub schema: Option<String>,
    /// The storage name.
    pub name: String,
    /// The columns, in table order.
    pub columns: Vec<Column>,
    /// Whether its declaration says what a violated rule does, other than ending the statement: SQLite's `ON CONFLICT`.
    pub resolves_conflicts: bool,
    /// Column names of the primary key, in key order; empty if there is none.
    pub primary_key: Vec<String>,
    /// Column sets of unique constraints, without the primary key.
    pub unique: Vec<Vec<String>>,
    /// Foreign keys, in declaration order.
    pub foreign_keys: Vec<ForeignKey>,
    /// Constraints and unique indexes whose names occur in errors of the database.
    pub constraints: Vec<Constraint>,
    /// Its full-text indexes, sorted by name.
    pub text_indexes: Vec<TextIndex>,
    /// The name of a hidden row id, if there is one (SQLite's `rowid`, unless a column shadows it).
    pub row_id: Option<String>,
    /// SQLite: the integer key, a column that is an alias of the row id.
    pub integer_key: Option<String>,
    /// Whether it cannot have indexes, as a view or a table that is stored elsewhere.
    pub takes_no_index: bool,
    /// The comment stored in the database.
    pub description: Option<String>,
    /// Whether reads include the rows of tables that inherit from this one. Its keys are not unique among all these rows.
    pub has_inheriting_tables: bool,
    /// Whether its rows can change without a trace in this database, for example because they are stored elsewhere.
    pub has_unseen_changes: bool,
}

impl Table {
    /// Returns the name with its namespace.
    pub fn full_name(&self) -> TableName {
        TableName { schema: self.schema.clone(), name: self.name.clone() }
    }

    /// Returns the column with that name. ASCII letter case is ignored if no name matches exactly.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .or_else(|| self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)))
    }
}

/// A column of a table or view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The storage name.
    pub name: String,
    /// The field type that corresponds to its declared type, if known.
    pub ty: Option<FieldType>,
    /// Whether it can hold NULL.
    pub nullable: bool,
    /// Whether it can hold NaN or an infinity, which JSON has no number for.
    pub not_finite: bool,
    /// Whether a new row needs a value for it, because it cannot hold NULL and nothing else provides a value.
    pub required: bool,
    /// Whether no statement can set its values, because the database computes them or the view of the column is read-only.
    pub generated: bool,
    /// How it stores times, found by sampling; `None` if it contains no times.
    pub time_form: Option<TimeForm>,
    /// The values that were found in it by sampling, if it can hold values of any type; otherwise empty.
    pub sampled: CellKinds,
    /// The comment stored in the database.
    pub description: Option<String>,
    /// The storage type, if statements have to name it.
    pub native: Option<NativeType>,
}

/// A full-text index over columns of one table, for words of all of them. `SPEC §20.1`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextIndex {
    /// Its name; in SQLite, the name of the FTS5 table.
    pub name: String,
    /// The indexed columns, in the order of the index.
    pub columns: Vec<String>,
    /// PostgreSQL: the text search configuration.
    pub language: Option<String>,
    /// PostgreSQL: the indexed expression; empty elsewhere.
    pub vector: Vec<SqlPart>,
}

impl TextIndex {
    /// Returns whether these are exactly the indexed columns, in any order.
    pub(crate) fn is_over(&self, columns: &[&str]) -> bool {
        self.columns.len() == columns.len() && columns.iter().all(|name| self.has_column(name))
    }

    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    /// Returns the name as that of a table.
    pub(crate) fn table_name(&self) -> TableName {
        TableName { schema: None, name: self.name.clone() }
    }
}

impl Column {
    /// Returns whether values can be compared, so that a record can be found by them.
    pub fn is_comparable(&self) -> bool {
        self.native.as_ref().is_none_or(|native| native.operators != Operators::None)
    }

    /// Returns whether the column can be part of the id of an entity.
    pub fn can_identify(&self) -> bool {
        self.is_comparable() && self.ty != Some(FieldType::Json)
    }
}

/// A storage type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeType {
    /// The name used in statements, without length or precision. For a domain, the name of its base type.
    pub name: String,
    /// The kind of type.
    pub kind: NativeKind,
    /// Its name in messages, without a schema.
    pub shown: String,
    /// The labels of an enumeration, in order; empty for other types.
    pub labels: Vec<String>,
    /// Whether a key guarantees that values of this column are unique in its table.
    pub unique: bool,
    /// Whether different texts may compare as equal, because the column's collation is not deterministic.
    pub has_nondeterministic_collation: bool,
    /// The maximum size of its values, if the declaration of the column limits it.
    pub size: Option<Size>,
    /// The operators that compare its values.
    pub operators: Operators,
}

/// The operators that compare the values of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Operators {
    /// The built-in ones.
    #[default]
    BuiltIn,
    /// Those in this schema, in the form of an SQL identifier.
    InSchema(String),
    /// The database has no order of the values.
    None,
}

impl NativeType {
    /// The name of the type of columns whose fields have no type.
    pub const ANY: &'static str = "any";

    /// Returns whether the database finds words in values of this type without a cast.
    pub(crate) fn is_text(&self) -> bool {
        let name = self.name.split(' ').next();
        let is_text = matches!(name, Some("text" | "varchar" | "bpchar" | "name"));
        self.kind == NativeKind::BuiltIn && is_text || self.shown == "citext"
    }

    /// Returns the type of a column that holds values in several forms ([`TimeForm::Mixed`]), for fields of type `ty`.
    pub(crate) fn mixed(ty: Option<FieldType>) -> Self {
        let name = ty.map_or(Self::ANY, FieldType::as_str);
        Self {
            name: name.to_owned(),
            kind: NativeKind::BuiltIn,
            shown: name.to_owned(),
            labels: Vec::new(),
            unique: false,
            has_nondeterministic_collation: false,
            size: None,
            operators: Operators::BuiltIn,
        }
    }
}

/// The largest values that a column can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Texts of at most that many characters.
    Chars(u32),
    /// Numbers with at most that many digits before the decimal point.
    Digits(u32),
    /// Texts of exactly that many digits, each 0 or 1.
    Bits(u32),
    /// Texts of at most that many bytes in UTF-8. The database truncates longer texts without an error.
    Bytes(u32),
}

/// A constraint or unique index of a table, with its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraint {
    /// The name of the constraint or of the index.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
}

/// The kind of a [`NativeType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeKind {
    /// A built-in type.
    BuiltIn,
    /// An enumeration.
    Enum,
    /// An array or composite type, which the database can convert to JSON.
    Composite,
    /// Any other type; its values are handled as text.
    Other,
}

/// A foreign key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignKey {
    /// The referencing columns.
    pub columns: Vec<String>,
    /// The namespace of the referenced table, as in [`Table::schema`].
    pub target_schema: Option<String>,
    /// The referenced table, which may not exist.
    pub target: String,
    /// The referenced columns, in the order of `columns`; empty if they are the primary key of the target.
    pub target_columns: Vec<String>,
}

/// How a storage column stores dates, times and UUIDs, and whether in one form only. `SPEC §5.5`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeForm {
    /// Text such as `2024-05-01 12:30:00` or `2024-05-01T12:30:00.000Z`.
    Text {
        /// The separator between date and time: `T` or a blank.
        separator: char,
        /// Digits of fractional seconds.
        fraction: u8,
        /// Whether a zone designator `Z` follows.
        zulu: bool,
    },
    /// Whole or fractional seconds since the Unix epoch.
    UnixSeconds,
    /// Milliseconds since the Unix epoch.
    UnixMillis,
    /// UUIDs as 16 bytes.
    UuidBytes,
    /// Values in several forms, or values of other types than the column's. Comparisons convert both sides to one form.
    Mixed {
        /// The separator between date and time with which times are written.
        separator: char,
    },
    /// A type of the database that has years of more than four digits, years before 1, and infinite times.
    Extended,
}
