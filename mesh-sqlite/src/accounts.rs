//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use mesh_backend::accounts::{self, ARGON2_HASHES, Accounts, column};
use mesh_backend::error::BoxError;
use mesh_integrity::UsersTable;
use sea_query::{BinOper, Expr, ExprTrait as _, IntoTableRef as _, SqliteQueryBuilder};

use crate::database::Database;
use crate::tables;

/// Returns the accounts stored in a table.
pub(crate) fn open(database: &Database, users: &UsersTable) -> Result<Accounts, BoxError> {
    let columns = tables::columns(&database.path(), &users.table)?;
    users.check(&columns, str::eq_ignore_ascii_case)?;
    let select = |users: &UsersTable, condition: Expr, limit: u64| {
        let mut select = accounts::select(users, users.table.clone().into_table_ref(), |column| column);
        select.and_where(condition).limit(limit).to_string(SqliteQueryBuilder)
    };
    let is_login = column(&users.login).eq(Expr::cust("?1"));
    let is_hash = column(&users.password).binary(BinOper::Like, Expr::Constant(ARGON2_HASHES.into()));
    let any = select(&UsersTable { role: None, tenant: None, ..users.clone() }, is_hash, 1);
    Ok(Accounts::new(database.tables(), (select(users, is_login, 2), 1), any))
}

#[cfg(test)]
mod tests;
