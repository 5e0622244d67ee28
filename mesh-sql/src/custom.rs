//! SQL expressions that sea-query has no methods for.

use mesh_schema::TableName;
use sea_query::extension::postgres::PgFunc;
use sea_query::{Asterisk, BinOper, Expr, ExprTrait as _, Func, IntoIden, Keyword, SelectStatement};

use mesh_plan::plan::CompareOp;

/// Casts an expression to the type with the SQL name `ty`.
pub(super) fn cast(expr: Expr, ty: &str) -> Expr {
    expr.cast_as(ty.to_owned())
}

/// Converts JSON to a PostgreSQL type, such as an array. `ty` is the SQL name of the type.
pub(super) fn from_json(json: Expr, ty: &str) -> Expr {
    // PostgreSQL has a function that converts the columns of a record, but none for a single value. A `$` in the type is in
    // quotes, where it does not begin a placeholder.
    let template = format!(
        "(SELECT r.v FROM pg_catalog.jsonb_to_record(pg_catalog.jsonb_build_object('v', CAST($1 AS pg_catalog.jsonb))) AS r (v {ty}))"
    );
    Expr::cust_with_exprs(template, [json])
}

/// Converts a text or JSON value to the type of a column. Returns a row of the table in which all other columns are NULL.
pub(super) fn populate_row(table: &TableName, column: &str, value: Expr) -> Expr {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = table.schema.iter().chain([&table.name]).map(|name| quoted(name)).collect();
    let template = format!(
        "pg_catalog.jsonb_populate_record(CAST(NULL AS {}), pg_catalog.jsonb_build_object($1, $2))",
        names.join(".")
    );
    Expr::cust_with_exprs(template, [Expr::Constant(column.into()), value])
}

/// Applies the PostgreSQL operator in `schema`, or the built-in one if `schema` is `None`. For an operator without a schema,
/// the database would search its path for the one that best fits the types of both sides, which may be one that another account
/// has created.
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
    // `schema` is the schema of an extension, in the form of an SQL identifier.
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
        "@@" => "OPERATOR(pg_catalog.@@)",
        "~~*" => "OPERATOR(pg_catalog.~~*)",
        _ => "OPERATOR(pg_catalog.~~)",
    })
}

/// Returns `ANY` of a subquery, for the right side of a comparison.
pub(super) fn any_of(select: SelectStatement) -> Expr {
    PgFunc::any(Expr::SubQuery(None, Box::new(select.into()))).into()
}

/// Returns the condition that another condition is false or unknown.
pub(super) fn is_not_true(condition: Expr) -> Expr {
    condition.binary(BinOper::IsNot, Expr::Keyword(Keyword::Custom("TRUE".into())))
}

/// Returns a SQLite column without its type affinity, which would convert the other side of a comparison.
pub(super) fn without_affinity(column: Expr) -> Expr {
    Expr::cust_with_expr("+?", column)
}

/// Applies a collation.
pub(super) fn collate(text: Expr, collation: &'static str) -> Expr {
    text.binary(BinOper::Custom("COLLATE"), Expr::col(collation))
}

/// Calls an aggregate function. For distinct values, `distinct` is the template of the argument, with the database's
/// placeholder.
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

/// Returns a MySQL date or time; NULL if it has no month or no day.
pub(super) fn complete_date(date: Expr) -> Expr {
    let dates = [date.clone(), date.clone(), date];
    Expr::cust_with_exprs("(CASE WHEN DAYOFMONTH(?) <> 0 AND MONTH(?) <> 0 THEN ? END)", dates)
}

/// Formats a MySQL timestamp as text in UTC, without trailing zeros in its fraction. The time zone of the session is UTC.
pub(super) fn utc_text(timestamp: Expr) -> Expr {
    Expr::cust_with_expr(
        "CONCAT(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(CAST(? AS DATETIME(6)) AS CHAR))), 'Z')",
        timestamp,
    )
}

/// Formats a MySQL boolean, which is a number that is 0 for false, as text.
pub(super) fn boolean_text(value: Expr) -> Expr {
    Expr::cust_with_expr("ELT(1 + (? <> 0), 'false', 'true')", value)
}

/// Formats MySQL bytes as hexadecimal digits, in PostgreSQL's format.
pub(super) fn hex_text(bytes: Expr) -> Expr {
    Expr::cust_with_exprs("CONCAT(?, LOWER(HEX(?)))", [Expr::Constant("\\x".into()), bytes])
}

/// Converts a MySQL sum of integers, which is a decimal number, to an integer. The statement fails if the sum does not fit.
pub(super) fn integer_sum(sum: Expr) -> Expr {
    // `COUNT(*)` keeps the overflowing sum from being a sum of constants, which would always fail.
    Expr::cust_with_exprs(
        "(CASE WHEN ? NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN 9223372036854775807 + COUNT(*) \
         ELSE CAST(? AS SIGNED) END)",
        [sum.clone(), sum],
    )
}

/// Converts text to the character set of a MySQL collation, and applies the collation.
pub(super) fn convert(text: Expr, charset: &str, collation: &str) -> Expr {
    let template = format!("CONVERT(? USING {}) COLLATE {}", backquoted(charset), backquoted(collation));
    Expr::cust_with_expr(template, text)
}

/// Tests whether a value is in a JSON array whose elements MySQL reads as values of type `ty`. `collation` has the character
/// set and the collation of texts.
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

/// Evaluates the expression `template` over a MySQL JSON value, which is the column `v` of `a`.
pub(super) fn eval_json(value: Expr, template: &str, others: impl IntoIterator<Item = Expr>) -> Expr {
    let template = format!("(SELECT {template} FROM JSON_TABLE(?, '$' COLUMNS (`v` JSON PATH '$')) AS `a`)");
    Expr::cust_with_exprs(template, others.into_iter().chain([value]))
}

fn backquoted(name: &str) -> String {
    // A `?` would be a placeholder. No collation has one in its name.
    format!("`{}`", name.replace(['`', '?'], ""))
}
