//! What sea-query has no methods for.

use mesh_schema::TableName;
use sea_query::extension::postgres::PgFunc;
use sea_query::{Asterisk, BinOper, Expr, ExprTrait as _, Func, IntoIden, Keyword, Query, SelectStatement};

use super::statement::Statement;
use crate::plan::CompareOp;

/// Casts to a type, by its name in SQL.
pub(super) fn cast(expr: Expr, ty: &str) -> Expr {
    expr.cast_as(ty.to_owned())
}

/// Converts JSON to a type of PostgreSQL, such as an array, by the name of the type in SQL.
pub(super) fn from_json(json: Expr, ty: &str) -> Expr {
    // There is no function for a single value, only for the columns of a record. A `$` in the type is in quotes, where it
    // begins no placeholder.
    let template = format!(
        "(SELECT r.v FROM pg_catalog.jsonb_to_record(pg_catalog.jsonb_build_object('v', CAST($1 AS pg_catalog.jsonb))) AS r (v {ty}))"
    );
    Expr::cust_with_exprs(template, [json])
}

/// Converts a value, which is text or JSON, to the type of a column. Returns a row of the table with only this column.
pub(super) fn row_of(table: &TableName, column: &str, value: Expr) -> Expr {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = table.schema.iter().chain([&table.name]).map(|name| quoted(name)).collect();
    let template = format!(
        "pg_catalog.jsonb_populate_record(CAST(NULL AS {}), pg_catalog.jsonb_build_object($1, $2))",
        names.join(".")
    );
    Expr::cust_with_exprs(template, [Expr::Constant(column.into()), value])
}

/// Applies PostgreSQL's operator of that name in a schema. Without the schema the database would search its path for the
/// operator that fits the types of both sides best, which may be one that another account has created.
pub(super) fn operator(left: Expr, operator: CompareOp, schema: Option<&str>, right: Expr) -> Expr {
    let name = match operator {
        CompareOp::Eq => "=",
        CompareOp::Ne => "<>",
        CompareOp::Gt => ">",
        CompareOp::Gte => ">=",
        CompareOp::Lt => "<",
        CompareOp::Lte => "<=",
    };
    let Some(schema) = schema else { return left.binary(built_in(name), right) };
    // The schema of an extension, as an identifier.
    let template = format!("($1 OPERATOR({schema}.{name}) $2)");
    Expr::cust_with_exprs(template, [left, right])
}

/// Returns one of PostgreSQL's built-in operators.
pub(super) fn built_in(name: &str) -> BinOper {
    BinOper::Custom(match name {
        "=" => "OPERATOR(pg_catalog.=)",
        "<>" => "OPERATOR(pg_catalog.<>)",
        ">" => "OPERATOR(pg_catalog.>)",
        ">=" => "OPERATOR(pg_catalog.>=)",
        "<" => "OPERATOR(pg_catalog.<)",
        "<=" => "OPERATOR(pg_catalog.<=)",
        "/" => "OPERATOR(pg_catalog./)",
        "~~*" => "OPERATOR(pg_catalog.~~*)",
        _ => "OPERATOR(pg_catalog.~~)",
    })
}

/// Returns the value that a subquery has in one of its rows, for a comparison.
pub(super) fn any_of(select: SelectStatement) -> Expr {
    PgFunc::any(Expr::SubQuery(None, Box::new(select.into()))).into()
}

/// Returns whether a condition is false or unknown.
pub(super) fn is_not_true(condition: Expr) -> Expr {
    condition.binary(BinOper::IsNot, Expr::Keyword(Keyword::Custom("TRUE".into())))
}

/// Returns a value of SQLite without the affinity of its column, which would convert the other side of a comparison.
pub(super) fn without_affinity(column: Expr) -> Expr {
    Expr::cust_with_expr("+?", column)
}

/// Selects the values of SQLite's JSON array, without an affinity.
pub(super) fn values_of_json(array: Expr) -> SelectStatement {
    let mut values = Query::select();
    values.expr(without_affinity(Expr::col("value"))).from_function(Func::cust("json_each").arg(array), "l");
    values
}

/// Applies a collation.
pub(super) fn collate(text: Expr, collation: &'static str) -> Expr {
    text.binary(BinOper::Custom("COLLATE"), Expr::col(collation))
}

/// Calls an aggregate function. `distinct` is the template of its argument over distinct values, with the placeholder of
/// the database.
pub(super) fn aggregate(function: impl IntoIden, value: Expr, distinct: Option<&'static str>) -> Expr {
    let value = match distinct {
        Some(template) => Expr::cust_with_expr(template, value),
        None => value,
    };
    Func::cust(function).arg(value).into()
}

/// Counts rows.
pub(super) fn count_rows() -> Expr {
    Func::count(Expr::col(Asterisk)).into()
}

/// Returns a statement that describes how another one would run. sea-query has a builder for it, but not for statements
/// with common table expressions.
pub(super) fn explain<P>(command: &str, statement: &Statement<P>) -> String {
    [command, " ", &statement.sql].concat()
}
