//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use mesh_backend::accounts::{Accounts, column};
use mesh_integrity::{UsersTable, UsersTableError};
use sea_query::{Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder};

use crate::database::Database;
use crate::tables;

impl Database {
    /// Returns the accounts stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing.
    pub fn accounts(&self, users: &UsersTable) -> Result<Accounts, UsersTableError> {
        let columns = tables::columns(&self.path(), &users.table);
        let columns = columns.map_err(|error| UsersTableError::from(error.to_string()))?;
        users.check(&columns, str::eq_ignore_ascii_case)?;
        let is_login = column(&users.login).eq(Expr::cust("?1"));
        let table = users.table.clone().into_table_ref();
        let same = |column| column;
        Ok(Accounts::new::<SqliteQueryBuilder>(self.tables(), users, table, same, (is_login, 1)))
    }
}

#[cfg(test)]
mod tests;
