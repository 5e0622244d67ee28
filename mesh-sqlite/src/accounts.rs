//! Accounts in a table of the served database.

use mesh_backend::accounts::{Accounts, column};
use mesh_backend::error::BoxError;
use mesh_integrity::UsersTable;
use sea_query::{Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder};

use crate::database::Database;
use crate::tables;

/// Returns the accounts stored in a table.
pub(crate) fn open(database: &Database, users: &UsersTable) -> Result<Accounts, BoxError> {
    let table = tables::own_table(database, &users.table)?;
    users.check(&table.column_names(), str::eq_ignore_ascii_case)?;
    let is_login = column(&users.login).eq(Expr::cust("?1"));
    let table = users.table.clone().into_table_ref();
    let same = |column| column;
    Ok(Accounts::new::<SqliteQueryBuilder>(database.tables(), users, table, same, (is_login, 1)))
}

#[cfg(test)]
mod tests;
