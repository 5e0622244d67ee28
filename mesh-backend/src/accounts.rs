//! Accounts in a table of the served database.

use std::fmt;
use std::sync::Arc;

use mesh_integrity::{Account, AccountError, AccountSource, AccountsUnavailable, BoxFuture, UsersTable};
use mesh_plan::Value;
use sea_query::{BinOper, Expr, ExprTrait as _, Query, QueryBuilder, TableRef};

use crate::tables::{TableError, Tables, text};

/// The pattern of password hashes.
const ARGON2_HASHES: &str = "$argon2id$%";

/// The accounts of a database.
pub struct Accounts {
    tables: Arc<dyn Tables>,
    find: String,
    /// The number of parameters of `find`, each of which is the login.
    logins: usize,
    any: String,
}

/// Returns a column of the table of accounts, with its table: SQLite reads an unqualified quoted name that is not a column as
/// text.
pub fn column(name: &str) -> Expr {
    Expr::col(("u", name.to_owned()))
}

impl Accounts {
    /// Creates the accounts of a table. `text` converts a column to text; `is_login` is the condition for an account of a login,
    /// with the number of its parameters, each of which is the login.
    pub fn new<B: QueryBuilder + Default>(
        tables: Arc<dyn Tables>,
        users: &UsersTable,
        table: TableRef,
        text: impl Fn(Expr) -> Expr,
        is_login: (Expr, usize),
    ) -> Self {
        let null = || Expr::cust("NULL");
        let select = |[role, tenant]: [Option<&String>; 2]| {
            let optional = [role, tenant].map(|name| name.map_or_else(null, |name| column(name)));
            let named = [&users.id, &users.login, &users.password].map(|name| column(name));
            let mut select = Query::select();
            select.exprs(named.into_iter().chain(optional).map(&text)).from_as(table.clone(), "u");
            select
        };
        let pattern = Expr::Constant(ARGON2_HASHES.into());
        let is_hash = text(column(&users.password)).binary(BinOper::Like, pattern);
        let find = select([users.role.as_ref(), users.tenant.as_ref()]).and_where(is_login.0).limit(2).take();
        let any = select([None; 2]).and_where(is_hash).limit(1).take();
        let (find, any) = (find.to_string(B::default()), any.to_string(B::default()));
        Self { tables, find, logins: is_login.1, any }
    }

    /// Checks that the statements fit the table.
    ///
    /// # Errors
    /// They do not, or the database cannot be read.
    pub async fn check(self, users: &UsersTable) -> Result<Self, String> {
        let table = &users.table;
        match self.read(&self.find, &vec!["".into(); self.logins]).await {
            Ok(_) => Ok(self),
            Err(error) => Err(format!("the table '{table}' cannot be read as a table of accounts: {error}")),
        }
    }

    async fn read(&self, sql: &str, params: &[Value]) -> Result<Vec<Account>, AccountError> {
        let rows = self.tables.read(sql, params).await.map_err(|error| -> AccountError {
            match error {
                TableError::Unavailable(cause) => {
                    tracing::warn!("the accounts cannot be read: {cause}");
                    AccountsUnavailable.into()
                }
                TableError::Failed(cause) => cause,
            }
        })?;
        let account = |row: &Vec<Value>| Account {
            id: text(row, 0).unwrap_or_default(),
            login: text(row, 1).unwrap_or_default(),
            hash: text(row, 2),
            role: text(row, 3),
            tenant: text(row, 4),
        };
        Ok(rows.iter().map(account).collect())
    }
}

impl AccountSource for Accounts {
    fn find<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            let mut found = self.read(&self.find, &vec![login.into(); self.logins]).await?;
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
