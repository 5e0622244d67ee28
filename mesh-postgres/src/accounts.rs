//! Accounts in a table of the served database.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mesh_integrity::BoxFuture;
use mesh_schema::TableName;
use tokio_postgres::types::Type;

use crate::database::Database;
use crate::error::{OpenError, with_causes};
use crate::pool::Pool;
use crate::quote::identifier as quoted;
use crate::read::TextParam;
use mesh_integrity::{Account, AccountError, AccountSource, UsersTable};

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
    /// The table or one of its columns is missing.
    pub async fn accounts(&self, users: &UsersTable) -> Result<Accounts, OpenError> {
        let failed = |cause| OpenError { database: self.pool.name().to_owned(), cause };
        let name = TableName::parse(&users.table).map_err(|fault| failed(fault.into()))?;
        let table = match &name.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&name.name)),
            None => quoted(&name.name),
        };
        let column = |name: &String| format!("u.{}::text", quoted(name));
        let or_null = |name: &Option<String>| name.as_ref().map_or_else(|| "NULL::text".to_owned(), column);
        let (id, password, login) = (column(&users.id), column(&users.password), column(&users.login));
        let (role, tenant) = (or_null(&users.role), or_null(&users.tenant));
        let own = quoted(&users.login);
        let accounts = Accounts {
            pool: Arc::clone(&self.pool),
            // The column itself is compared as well, so that an index on it can be used.
            find: format!(
                "SELECT {id}, {password}, {role}, {tenant} FROM {table} AS u \
                 WHERE u.{own} = $1 AND {login} = $1::text LIMIT 2"
            ),
            any: format!(
                "SELECT {id}, {password}, NULL::text, NULL::text FROM {table} AS u \
                 WHERE {password} LIKE '$argon2id$%' LIMIT 1"
            ),
        };
        accounts.read(&accounts.find, Some("")).await.map_err(|error| {
            failed(format!("'integrity.users' does not fit the table '{}': {error}", users.table).into())
        })?;
        Ok(accounts)
    }
}

impl Accounts {
    async fn read(&self, sql: &str, login: Option<&str>) -> Result<Vec<Account>, AccountError> {
        let mut lease = self.pool.take(false).await?;
        let param = TextParam(login.map(Cow::Borrowed));
        let params: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> =
            login.iter().map(|_| (&param as _, Type::UNKNOWN)).collect();
        let rows = lease.begin().client().query_typed(sql, &params).await;
        lease.done();
        let rows = rows.map_err(|error| with_causes(&error))?;
        Ok(rows
            .iter()
            .map(|row| Account {
                id: row.get::<_, Option<String>>(0).unwrap_or_default(),
                hash: row.get(1),
                role: row.get(2),
                tenant: row.get(3),
            })
            .collect())
    }
}

impl AccountSource for Accounts {
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            // Text of PostgreSQL cannot contain this character, and a parameter with it is an error.
            if login.contains('\0') {
                return Ok(None);
            }
            let mut found = self.read(&self.find, Some(login)).await?;
            if found.len() > 1 {
                tracing::warn!("two accounts have the same login, so neither can be used");
                return Ok(None);
            }
            Ok(found.pop().filter(|account| !account.id.is_empty()))
        })
    }

    fn any_hash(&self) -> BoxFuture<'_, Result<Option<String>, AccountError>> {
        Box::pin(async { Ok(self.read(&self.any, None).await?.pop().and_then(|account| account.hash)) })
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").field("find", &self.find).finish_non_exhaustive()
    }
}
