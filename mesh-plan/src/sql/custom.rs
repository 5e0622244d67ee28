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

/// Returns a timestamp of MySQL as text in UTC, without trailing zeros in its fraction. The time zone of the session is UTC. A
/// date without a month is NULL.
pub(super) fn utc_text(timestamp: Expr) -> Expr {
    Expr::cust_with_expr(
        "CONCAT(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(CAST(NULLIF(?, 0) AS DATETIME(6)) AS CHAR))), 'Z')",
        timestamp,
    )
}

/// Returns a number of MySQL that is 0 for false as text.
pub(super) fn boolean_text(value: Expr) -> Expr {
    Expr::cust_with_expr("ELT(1 + (? <> 0), 'false', 'true')", value)
}

/// Returns bytes of MySQL as hexadecimal digits in the form of PostgreSQL.
pub(super) fn hex_text(bytes: Expr) -> Expr {
    Expr::cust_with_exprs("CONCAT(?, LOWER(HEX(?)))", [Expr::Constant("\\x".into()), bytes])
}

/// Returns a sum of integers of MySQL, which is a decimal number, as an integer. Fails if it does not fit.
pub(super) fn integer_sum(sum: Expr) -> Expr {
    // The sum of constants would fail always.
    Expr::cust_with_exprs(
        "(CASE WHEN ? NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN 9223372036854775807 + COUNT(*) \
         ELSE CAST(? AS SIGNED) END)",
        [sum.clone(), sum],
    )
}

/// Converts text to the character set of a collation of MySQL, and applies the collation.
pub(super) fn convert(text: Expr, charset: &str, collation: &str) -> Expr {
    let template = format!("CONVERT(? USING {}) COLLATE {}", backquoted(charset), backquoted(collation));
    Expr::cust_with_expr(template, text)
}

/// Returns whether a value is in a JSON array, whose elements MySQL reads as values of that type. `collation` is that of texts,
/// with its character set.
pub(super) fn is_in_json(
    left: Expr,
    array: Expr,
    ty: &str,
    collation: Option<(&str, &str)>,
    negated: bool,
) -> Expr {
    let value = match collation {
        Some((charset, collation)) => {
            format!("CONVERT(`l`.`v` USING {}) COLLATE {}", backquoted(charset), backquoted(collation))
        }
        None => "`l`.`v`".to_owned(),
    };
    let not = if negated { "NOT " } else { "" };
    let template =
        format!("(? {not}IN (SELECT {value} FROM JSON_TABLE(?, '$[*]' COLUMNS (`v` {ty} PATH '$')) AS `l`))");
    Expr::cust_with_exprs(template, [left, array])
}

/// Evaluates an expression over the column `v` of `a`, which is a JSON value of MySQL.
pub(super) fn of_json(value: Expr, template: &str, others: impl IntoIterator<Item = Expr>) -> Expr {
    let template = format!("(SELECT {template} FROM JSON_TABLE(?, '$' COLUMNS (`v` JSON PATH '$')) AS `a`)");
    Expr::cust_with_exprs(template, others.into_iter().chain([value]))
}

fn backquoted(name: &str) -> String {
    // A `?` would be a placeholder. No name of a collation has one.
    format!("`{}`", name.replace(['`', '?'], ""))
}
