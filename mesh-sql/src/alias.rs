//! The names that a statement gives to levels, rows and columns.

use sea_query::Expr;

/// The alias of the level of the parents.
pub(crate) const PARENTS: &str = "h";
/// The column with the number of a row within its level.
pub(crate) const ROW_NUMBER: &str = "o";
/// The column with the number of the parent's row.
pub(crate) const PARENT_NUMBER: &str = "p";

/// Returns the name of a level.
pub(crate) fn level_name(number: usize) -> String {
    format!("n{number}")
}

/// Returns the alias of a node's table.
pub(crate) fn table_alias(number: usize) -> String {
    format!("t{number}")
}

/// Returns the alias of a node's rows.
pub(crate) fn rows_alias(number: usize) -> String {
    format!("q{number}")
}

pub(crate) fn column_name(number: usize) -> String {
    format!("c{number}")
}

/// Returns a column of rows under an alias.
pub(crate) fn column(alias: &str, number: usize) -> Expr {
    Expr::col((alias.to_owned(), column_name(number)))
}
