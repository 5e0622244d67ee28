//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{Account, AccountError, AccountSource, AccountsUnavailable, BoxFuture, UsersTable};
use mesh_plan::Value;
use mysql_async::Row;
use sea_query::{BinOper, Expr, ExprTrait as _, MysqlQueryBuilder, Query};

use crate::cells::{optional_text, text};
use crate::database::Database;
use crate::error::OpenError;
use crate::pool::row_budget::RowBudget;
use crate::pool::{Pool, PoolError};

/// The accounts of a database.
pub struct Accounts {
    pool: Arc<Pool>,
    find: String,
    any: String,
}

impl Database {
    /// Returns the accounts stored in a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing ([`OpenError::faults`]).
    pub async fn accounts(&self, users: &UsersTable) -> Result<Accounts, OpenError> {
        let columns = self.columns(&users.table).await.map_err(|error| self.open_error(error))?;
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        users.check(&names, str::eq_ignore_ascii_case).map_err(|error| self.open_error(error))?;
        let column = |name: &str| Expr::col(("u", name.to_owned()));
        let text = |name: &str| column(name).cast_as("CHAR");
        let optional = |name: &Option<String>| match name {
            Some(name) => text(name),
            None => Expr::null(),
        };
        let select = |role: Expr, tenant: Expr| {
            let columns = [text(&users.id), text(&users.login), text(&users.password), role, tenant];
            Query::select().exprs(columns).from_as(users.table.clone(), "u").take()
        };
        let login = || Expr::cust("?");
        let accounts = Accounts {
            pool: Arc::clone(&self.pool),
            find: select(optional(&users.role), optional(&users.tenant))
                // The first condition can use an index. Its collation may treat other texts as equal.
                .and_where(column(&users.login).eq(login()))
                .and_where(text(&users.login).eq(login()))
                .limit(2)
                .to_string(MysqlQueryBuilder),
            any: select(optional(&None), optional(&None))
                .and_where(text(&users.password).binary(BinOper::Like, Expr::Constant("$argon2id$%".into())))
                .limit(1)
                .to_string(MysqlQueryBuilder),
        };
        accounts.read(&accounts.find, &["".into(), "".into()]).await.map_err(|error| {
            let table = &users.table;
            self.open_error(format!("'integrity.users' does not fit the table '{table}': {error}"))
        })?;
        Ok(accounts)
    }

    /// Returns the names and types of a table's columns; empty if there is no such table.
    pub(crate) async fn columns(&self, table: &str) -> Result<Vec<(String, String)>, PoolError> {
        let sql = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
                   WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION";
        let rows = self.pool.run(sql, &[table.into()], RowBudget::UNLIMITED).await?;
        Ok(rows.iter().map(|row| (text(row, 0), text(row, 1).to_ascii_lowercase())).collect())
    }
}

impl Accounts {
    async fn read(&self, sql: &str, params: &[Value]) -> Result<Vec<Account>, AccountError> {
        let rows =
            self.pool.run(sql, params, RowBudget::UNLIMITED).await.map_err(|error| -> AccountError {
                if matches!(error, PoolError::Exhausted) || error.is_unreachable() {
                    tracing::warn!("the accounts cannot be read: {error}");
                    return AccountsUnavailable.into();
                }
                error.into()
            })?;
        let account = |row: &Row| Account {
            id: text(row, 0),
            login: text(row, 1),
            hash: optional_text(row, 2),
            role: optional_text(row, 3),
            tenant: optional_text(row, 4),
        };
        Ok(rows.iter().map(account).collect())
    }
}

impl AccountSource for Accounts {
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            let mut found = self.read(&self.find, &[login.into(), login.into()]).await?;
            if found.len() > 1 {
                tracing::warn!("two accounts have the same login, so neither can be used");
                return Ok(None);
            }
            Ok(found.pop().filter(|account| !account.id.is_empty()))
        })
    }

    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>> {
        Box::pin(async { Ok(self.read(&self.any, &[]).await?.pop().and_then(|account| account.hash)) })
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").field("find", &self.find).finish_non_exhaustive()
    }
}
