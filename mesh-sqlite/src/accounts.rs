//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use mesh_backend::accounts::{self, ARGON2_HASHES, Accounts, column};
use mesh_integrity::{UsersTable, UsersTableError};
use sea_query::{BinOper, Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder};

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
        let select = |users: &UsersTable, condition: Expr, limit: u64| {
            let mut select = accounts::select(users, users.table.clone().into_table_ref(), |column| column);
            select.and_where(condition).limit(limit).to_string(SqliteQueryBuilder)
        };
        let is_login = column(&users.login).eq(Expr::cust("?1"));
        let is_hash = column(&users.password).binary(BinOper::Like, Expr::Constant(ARGON2_HASHES.into()));
        let any = select(&UsersTable { role: None, tenant: None, ..users.clone() }, is_hash, 1);
        Ok(Accounts::new(self.tables(), (select(users, is_login, 2), 1), any))
    }
}

#[cfg(test)]
mod tests;
