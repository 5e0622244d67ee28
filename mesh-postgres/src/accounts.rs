//! Accounts in a table of the served database.

pub(crate) mod api_keys;

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{Account, AccountError, AccountSource, AccountsUnavailable, BoxFuture, UsersTable};
use mesh_schema::TableName;
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder, Query};
use tokio_postgres::Row;

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::{Pool, PoolError};
use crate::sql::{self, SYSTEM_SCHEMA, TextParam};

/// The accounts of a PostgreSQL database. They are read from the primary, because a replica may lack a password that has
/// just been changed.
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
        let table = TableName::parse(&users.table).map_err(|error| self.open_error(error))?;
        let table = self.find_table(table).await.map_err(|error| self.open_error(error))?;
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
        let operators =
            self.operators_of(&table, &users.login).await.map_err(|error| self.open_error(error))?;
        let template = format!("$1 OPERATOR({}.=) $2", sql::identifier(&operators).replace('$', "$$"));
        let equals = |left, right| Expr::cust_with_exprs(template.clone(), [left, right]);
        let accounts = Accounts {
            pool: Arc::clone(&self.pool),
            find: select(optional(&users.role), optional(&users.tenant))
                // The column is also compared without a cast, so that its index can be used.
                .and_where(equals(column(&users.login), login()))
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
    pub(crate) async fn columns(&self, table: &TableName) -> Result<Vec<String>, PoolError> {
        const COLUMNS: &str = "SELECT attname::text FROM pg_catalog.pg_attribute \
            WHERE attrelid = pg_catalog.to_regclass($1)::oid AND attnum > 0 AND NOT attisdropped";
        let table = sql::table(table);
        let rows = self.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await;
        Ok(rows.map_err(PoolError::Failed)?.iter().map(|row| row.get(0)).collect())
    }

    /// Qualifies the name of a table with the first schema of the search path that has it.
    pub(crate) async fn find_table(&self, table: TableName) -> Result<TableName, PoolError> {
        if table.schema.is_some() {
            return Ok(table);
        }
        let sql = "SELECT n.nspname FROM pg_catalog.pg_class AS c \
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                   WHERE c.relname = $1::text AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
                     AND n.nspname = ANY(current_schemas(false)) \
                   ORDER BY pg_catalog.array_position(current_schemas(false), n.nspname) LIMIT 1";
        let link = self.pool.take(false).await?;
        link.begin().await?;
        let found = link.query_once(sql, &[TextParam::text(&table.name)]).await?;
        link.end("COMMIT").await?;
        let schema = found.first().map(|row| row.get(0));
        Ok(TableName { schema: schema.or_else(|| self.default_schema().cloned()), ..table })
    }

    /// Returns the schema of the operators that compare a column with text: the schema of `citext` if the column has
    /// this extension type, else the schema of the built-in operators.
    async fn operators_of(&self, table: &TableName, column: &str) -> Result<String, PoolError> {
        let sql = "SELECT n.nspname FROM pg_catalog.pg_attribute AS a \
                   JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid \
                   JOIN pg_catalog.pg_namespace AS s ON s.oid = c.relnamespace \
                   JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace \
                   WHERE s.nspname = $1::text AND c.relname = $2::text AND a.attname = $3::text \
                     AND t.typname = 'citext'";
        let names = [table.schema.as_deref().unwrap_or_default(), &table.name, column].map(TextParam::text);
        let found = self.pool.take(false).await?.query_once(sql, &names).await?;
        Ok(found.first().map_or_else(|| SYSTEM_SCHEMA.to_owned(), |row| row.get(0)))
    }
}

impl Accounts {
    async fn read(&self, sql: &str, params: &[TextParam<'_>]) -> Result<Vec<Account>, AccountError> {
        let rows = self.pool.run(sql, params).await.map_err(|error| -> AccountError {
            if matches!(error, PoolError::Exhausted) || error.is_unreachable() {
                tracing::warn!("the accounts cannot be read: {error}");
                return AccountsUnavailable.into();
            }
            error.into()
        })?;
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
            // PostgreSQL text cannot contain this character, and a parameter with it is an error.
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
