//! Parameters of statements, which are sent as text, and quoting for parts that PostgreSQL does not take as parameters.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::BytesMut;
use mesh_schema::TableName;
use sea_query::{
    IntoIden as _, IntoTableRef as _, PostgresQueryBuilder, QueryBuilder as _, QuotedBuilder as _, TableRef,
};
use tokio_postgres::types::{Format, IsNull, ToSql, Type};

/// The schema of the built-in types, functions and operators.
pub(crate) const SYSTEM_SCHEMA: &str = "pg_catalog";

/// A parameter as text, which the database parses as the type that the statement expects; `None` is NULL.
#[derive(Debug)]
pub(crate) struct TextParam<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> TextParam<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }

    /// Creates a `bigint`. Numbers out of its range, such as times, become its maximum.
    pub(crate) fn number(number: u64) -> Self {
        Self(Some(Cow::Owned(number.min(i64::MAX as u64).to_string())))
    }
}

impl ToSql for TextParam<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

/// Returns an identifier in quotation marks.
pub(crate) fn identifier(name: &str) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    PostgresQueryBuilder.prepare_iden(&name.to_owned().into_iden(), &mut sql);
    sql
}

/// Returns the quoted name of a table, with its schema if it has one.
pub(crate) fn table(table: &TableName) -> String {
    let parts = table.schema.iter().chain([&table.name]);
    parts.map(|part| identifier(part)).collect::<Vec<_>>().join(".")
}

/// Returns the name of a table with its schema, or with the default schema if it has none.
pub(crate) fn qualified(table: &TableName, default: Option<&String>) -> TableName {
    TableName { schema: table.schema.clone().or_else(|| default.cloned()), name: table.name.clone() }
}

/// Returns a table for a statement builder.
pub(crate) fn table_ref(table: &TableName) -> TableRef {
    match &table.schema {
        Some(schema) => (schema.clone(), table.name.clone()).into_table_ref(),
        None => table.name.clone().into_table_ref(),
    }
}

/// Returns a string literal.
pub(crate) fn literal(text: &str) -> String {
    let mut sql = String::with_capacity(text.len() + 2);
    PostgresQueryBuilder.write_string_quoted(text, &mut sql);
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(identifier("post"), r#""post""#);
        assert_eq!(identifier(r#"a "b""#), r#""a ""b""""#);
        let orders = TableName { schema: Some("sales".to_owned()), name: "orders".to_owned() };
        assert_eq!(table(&orders), r#""sales"."orders""#);
        assert_eq!(literal("post"), "'post'");
        assert_eq!(literal(r"it's \o/"), r"E'it\'s \\o/'");
    }
}
