//! What does a database contain? A neutral description that back ends fill in and inference reads.

use crate::FieldType;

/// The tables and views of one database, in no particular order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// Tables and views alike.
    pub tables: Vec<Table>,
}

/// A table or a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The namespace it lives in, where the database has them and it is not the default one.
    pub schema: Option<String>,
    /// Its name as stored.
    pub name: String,
    /// In the order of the table.
    pub columns: Vec<Column>,
    /// Names of the columns of the primary key, in key order; empty when there is none.
    pub primary_key: Vec<String>,
    /// Sets of columns whose values are unique together, the primary key not among them.
    pub unique: Vec<Vec<String>>,
    /// Foreign keys, in the order of their declaration.
    pub foreign_keys: Vec<ForeignKey>,
    /// The name by which a hidden row id can be read, if there is one (SQLite's `rowid`, unless shadowed).
    pub row_id: Option<String>,
    /// What the database's own comment says of it.
    pub description: Option<String>,
    /// Whether other tables' rows are read with its own, for which its keys do not hold: two rows may have one key.
    pub has_heirs: bool,
}

impl Table {
    /// The column of that name, compared as the storage compares names: letter case aside for ASCII.
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
    /// Its name as stored.
    pub name: String,
    /// What its declared type means, where that can be told.
    pub ty: Option<FieldType>,
    /// Whether it can hold NULL.
    pub nullable: bool,
    /// How times are written in it, found by sampling; `None` where it is no time or holds none.
    pub time_form: Option<TimeForm>,
    /// What the database's own comment says of it.
    pub description: Option<String>,
    /// The database's own type, where statements have to say it.
    pub native: Option<NativeType>,
}

/// A column's type as its database calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeType {
    /// Its name as statements write it, without length or precision; of a domain, that of the type below.
    pub name: String,
    /// What sort of type it is.
    pub kind: NativeKind,
    /// The labels of an enumeration, in its order; of other types none.
    pub labels: Vec<String>,
    /// Whether no two rows of the table have the same value in this column; set from the table's keys.
    pub unique: bool,
}

/// What sort of type a [`NativeType`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeKind {
    /// One that the database brings with it.
    BuiltIn,
    /// An enumeration, whose values are labels.
    Enum,
    /// A list or a record of other values, which the database can write as JSON.
    Composite,
    /// Any other, of which only the text is known.
    Other,
}

/// A foreign key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignKey {
    /// Its columns.
    pub columns: Vec<String>,
    /// The namespace of the table it points to, as in [`Table::schema`].
    pub target_schema: Option<String>,
    /// The table it points to, which may not exist.
    pub target: String,
    /// The columns it points to, in the order of `columns`. Empty: the target's primary key.
    pub target_columns: Vec<String>,
}

/// How a storage column writes dates and times. `SPEC §5.5`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeForm {
    /// Text such as `2024-05-01 12:30:00` or `2024-05-01T12:30:00.000Z`.
    Text {
        /// `T` or a blank between date and time.
        separator: char,
        /// Digits after the second's decimal point.
        fraction: u8,
        /// Whether a zone designator `Z` is written.
        zulu: bool,
    },
    /// Whole or fractional seconds since the Unix epoch.
    UnixSeconds,
    /// Milliseconds since the Unix epoch.
    UnixMillis,
}
