//! Accounts in a table of the served database.

use mesh_backend::accounts::{Accounts, column};
use mesh_backend::pool::RowBudget;
use mesh_integrity::UsersTable;
use sea_query::{Expr, ExprTrait as _, IntoTableRef as _, MysqlQueryBuilder};

use crate::cells::text;
use crate::database::Database;
use crate::error::BoxError;
use crate::pool::PoolError;

/// Returns the accounts stored in a table.
pub(crate) async fn open(database: &Database, users: &UsersTable) -> Result<Accounts, BoxError> {
    let columns = database.columns(&users.table).await?;
    let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    users.check(&names, str::eq_ignore_ascii_case)?;
    let text = |column: Expr| column.cast_as("CHAR");
    let (login, param) = (|| column(&users.login), || Expr::cust("?"));
    // The first condition can use an index. Its collation may treat other texts as equal.
    let is_login = login().eq(param()).and(text(login()).eq(param()));
    let table = users.table.clone().into_table_ref();
    let accounts =
        Accounts::new::<MysqlQueryBuilder>(database.pool.clone(), users, table, text, (is_login, 2));
    Ok(accounts.check(users).await?)
}

impl Database {
    /// Returns the names and types of a table's columns; empty if there is no such table.
    pub(crate) async fn columns(&self, table: &str) -> Result<Vec<(String, String)>, PoolError> {
        let sql = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION";
        let rows = self.pool.run(sql, &[table.into()], RowBudget::UNLIMITED).await?;
        Ok(rows.iter().map(|row| (text(row, 0), text(row, 1).to_ascii_lowercase())).collect())
    }
}
