//! Accounts in a table of the served database.

use mesh_backend::accounts::{Accounts, column};
use mesh_integrity::UsersTable;
use mesh_schema::TableName;
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder};

use crate::database::Database;
use crate::error::BoxError;
use crate::sql::{self, SYSTEM_SCHEMA, TextParam};

/// Returns the accounts stored in a table. They are read from the primary, because a replica may lack a password that has just been
/// changed.
pub(crate) async fn open(database: &Database, users: &UsersTable) -> Result<Accounts, BoxError> {
    let table = database.find_table(TableName::parse(&users.table)?).await?;
    let columns = database.columns(&table).await?;
    let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    users.check(&names, |column, name| column == name)?;
    let text = |column: Expr| column.cast_as("text");
    let (login, param) = (|| column(&users.login), || Expr::cust("$1"));
    let operators = database.operators_of(&table, &users.login).await?;
    let template = format!("$1 OPERATOR({}.=) $2", sql::identifier(&operators).replace('$', "$$"));
    // The column is also compared without a cast, so that its index can be used.
    let is_login = Expr::cust_with_exprs(template, [login(), param()]).and(text(login()).eq(text(param())));
    let (tables, table) = (database.pool.clone(), sql::table_ref(&table));
    let accounts = Accounts::new::<PostgresQueryBuilder>(tables, users, table, text, (is_login, 1));
    Ok(accounts.check(users).await?)
}

impl Database {
    /// Returns the names and types of a table's columns; empty if there is no such table.
    pub(crate) async fn columns(&self, table: &TableName) -> Result<Vec<(String, String)>, BoxError> {
        const COLUMNS: &str = "SELECT a.attname::text, t.typname::text FROM pg_catalog.pg_attribute AS a \
            JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
            WHERE a.attrelid = pg_catalog.to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped";
        let table = sql::table(table);
        let rows = self.pool.take(false).await?.query_once(COLUMNS, &[TextParam::text(&table)]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Qualifies the name of a table with the first schema of the search path that has it.
    pub(crate) async fn find_table(&self, table: TableName) -> Result<TableName, BoxError> {
        if table.schema.is_some() {
            return Ok(table);
        }
        let sql = "SELECT n.nspname FROM pg_catalog.pg_class AS c \
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                   WHERE c.relname = $1::text AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
                     AND n.nspname = ANY(current_schemas(false)) \
                   ORDER BY pg_catalog.array_position(current_schemas(false), n.nspname) LIMIT 1";
        let connection = self.pool.take(false).await?;
        connection.begin().await?;
        let found = connection.query_once(sql, &[TextParam::text(&table.name)]).await?;
        connection.end("COMMIT").await?;
        let schema = found.first().map(|row| row.get(0));
        Ok(TableName { schema: schema.or_else(|| self.default_schema().cloned()), ..table })
    }

    /// Returns the schema of the operators that compare a column with text: the schema of `citext` if the column has
    /// this extension type, else the schema of the built-in operators.
    async fn operators_of(&self, table: &TableName, column: &str) -> Result<String, BoxError> {
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
