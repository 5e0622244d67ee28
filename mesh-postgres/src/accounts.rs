//! Accounts in a table of the served database.

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{Account, AccountError, AccountSource, BoxFuture, UsersTable};
use mesh_schema::TableName;
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder, Query};
use tokio_postgres::Row;

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::{Pool, PoolError};
use crate::sql::{self, TextParam};

/// The accounts of a PostgreSQL database. They are read from the primary, because a replica may lack a password that has
/// just been changed.
pub struct Accounts {
    pool: Arc<Pool>,
    find: String,
    any: String,
}

impl Database {
    /// Returns the accounts of a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing ([`OpenError::faults`]).
    pub async fn accounts(&self, users: &UsersTable) -> Result<Accounts, OpenError> {
        let table = TableName::parse(&users.table).map_err(|error| self.open_error(error))?;
        let columns = self.columns(&table).await.map_err(|error| self.open_error(error))?;
        users.check(&columns, |column, name| column == name).map_err(|error| self.open_error(error))?;
        let column = |name: &str| Expr::col(("u", name.to_owned()));
        let text = |name: &str| column(name).cast_as("text");
        let optional = |name: &Option<String>| match name {
            Some(name) => text(name),
            None => Expr::null().cast_as("text"),
        };
        let select = |role: Expr, tenant: Expr| {
            let columns = [text(&users.id), text(&users.login), text(&users.password), role, tenant];
            Query::select().exprs(columns).from_as(sql::table_ref(&table), "u").take()
        };
        let login = || Expr::cust("$1");
        let accounts = Accounts {
            pool: Arc::clone(&self.pool),
            find: select(optional(&users.role), optional(&users.tenant))
                // The column is also compared without a cast, so that its index can be used.
                .and_where(column(&users.login).eq(login()))
                .and_where(text(&users.login).eq(login().cast_as("text")))
                .limit(2)
                .to_string(PostgresQueryBuilder),
            any: select(optional(&None), optional(&None))
                .and_where(text(&users.password).like("$argon2id$%"))
                .limit(1)
                .to_string(PostgresQueryBuilder),
        };
        accounts.read(&accounts.find, &[TextParam::text("")]).await.map_err(|error| {
            let table = &users.table;
            self.open_error(format!("'integrity.users' does not fit the table '{table}': {error}"))
        })?;
        Ok(accounts)
    }

    /// Returns the names of a table's columns; empty if there is no such table.
    async fn columns(&self, table: &TableName) -> Result<Vec<String>, PoolError> {
        const COLUMNS: &str = "SELECT attname::text FROM pg_catalog.pg_attribute \
            WHERE attrelid = pg_catalog.to_regclass($1) AND attnum > 0 AND NOT attisdropped";
        let table = sql::table(table);
        let rows = self.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await;
        Ok(rows.map_err(PoolError::Failed)?.iter().map(|row| row.get(0)).collect())
    }
}

impl Accounts {
    async fn read(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Account>, AccountError> {
        let rows = self.pool.take(false).await?.query_once(sql, params).await.map_err(PoolError::Failed)?;
        let account = |row: &Row| Account {
            id: row.get::<_, Option<String>>(0).unwrap_or_default(),
            login: row.get::<_, Option<String>>(1).unwrap_or_default(),
            hash: row.get(2),
            role: row.get(3),
            tenant: row.get(4),
        };
        Ok(rows.iter().map(account).collect())
    }
}

impl AccountSource for Accounts {
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            // Text of PostgreSQL cannot contain this character, and a parameter with it is an error.
            if login.contains('\0') {
                return Ok(None);
            }
            let mut found = self.read(&self.find, &[TextParam::text(login)]).await?;
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
