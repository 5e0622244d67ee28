//! Quoting for the parts of statements that PostgreSQL does not take as parameters.

use mesh_schema::TableName;
use sea_query::{
    IntoIden as _, IntoTableRef as _, PostgresQueryBuilder, QueryBuilder as _, QuotedBuilder as _, TableRef,
};

/// Returns an identifier in quotation marks.
pub(crate) fn identifier(name: &str) -> String {
    let mut sql = String::with_capacity(name.len() + 2);
    PostgresQueryBuilder.prepare_iden(&name.to_owned().into_iden(), &mut sql);
    sql
}

/// Returns the name of a table, after its schema if it has one.
pub(crate) fn table(table: &TableName) -> String {
    let parts = table.schema.iter().chain([&table.name]);
    parts.map(|part| identifier(part)).collect::<Vec<_>>().join(".")
}

/// Returns a table for the builder of a statement.
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
