//! Statements with typed parameters.
//!
//! The lowering records each parameter in [`Params`] and puts a reference to it into the expression. The references
//! are resolved when the statement is rendered, in the order of the placeholders. Expressions can therefore be built,
//! cloned and moved in any order.

use std::fmt::{self, Display, Formatter, Write};

use sea_query::{Expr, QueryBuilder, QueryStatementWriter, SqlWriter, Value};

/// A value and, if it is that of an input, the input's slot.
pub(super) type ValueOrInput<'v> = (&'v mesh_plan::Value, Option<usize>);

/// SQL text with its parameters, in the order of their placeholders.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<P> {
    /// The text. It depends on the schema and on the form of the query, never on a value in a condition.
    pub sql: String,
    /// The parameters to bind.
    pub params: Vec<P>,
}

impl<P: Display> Display for Statement<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql)?;
        for (index, param) in self.params.iter().enumerate() {
            write!(f, "{}{param}", if index == 0 { "\n  -- " } else { ", " })?;
        }
        Ok(())
    }
}

/// The smallest number in `LIMIT` that refers to a parameter and is not a number of rows. No page is this large.
const LIMIT_REFERENCE: u64 = 1 << 62;

/// The parameters of a statement under construction.
#[derive(Debug)]
pub struct Params<'p, P> {
    recorded: Vec<P>,
    inputs: &'p [mesh_plan::Value],
    limit: Option<fn(u64) -> P>,
}

impl<'p, P: Clone> Params<'p, P> {
    /// Creates an empty list. `inputs` are the values for which the statement is built; without them, it serves all values.
    /// `limit` converts the number of rows in `LIMIT` to a parameter. Without it, the number is a literal.
    pub(super) fn new(inputs: &'p [mesh_plan::Value], limit: Option<fn(u64) -> P>) -> Self {
        Self { recorded: Vec::new(), inputs, limit }
    }

    /// Replaces the sample of an input with the value for which the statement is built.
    pub(super) fn current<'v>(&self, (value, slot): ValueOrInput<'v>) -> ValueOrInput<'v>
    where
        'p: 'v,
    {
        (slot.and_then(|slot| self.inputs.get(slot)).unwrap_or(value), slot)
    }

    /// Does the same for an input that is a text.
    pub(super) fn current_text<'v>(&self, text: &'v str, slot: Option<usize>) -> &'v str
    where
        'p: 'v,
    {
        match slot.and_then(|slot| self.inputs.get(slot)) {
            Some(mesh_plan::Value::Text(text)) => text,
            _ => text,
        }
    }

    /// Records a parameter and returns an expression that refers to it.
    pub(super) fn add(&mut self, param: P) -> Expr {
        let reference = u32::try_from(self.recorded.len()).ok();
        self.recorded.push(param);
        Expr::Value(Value::Unsigned(reference))
    }

    /// Records a parameter for the number of rows in `LIMIT` or `OFFSET`, and returns a number that refers to it.
    pub(super) fn add_limit(&mut self, param: P) -> u64 {
        let reference = self.recorded.len() as u64;
        self.recorded.push(param);
        LIMIT_REFERENCE + reference
    }

    /// Renders a statement whose parameters were recorded here.
    pub(super) fn render(
        &self,
        statement: &impl QueryStatementWriter,
        builder: impl QueryBuilder,
    ) -> Statement<P> {
        let mut writer = Writer { recorded: self, sql: String::with_capacity(256), params: Vec::new() };
        statement.build_collect_into(builder, &mut writer);
        Statement { sql: writer.sql, params: writer.params }
    }
}

/// Collects the text and resolves references to parameters.
struct Writer<'p, P> {
    recorded: &'p Params<'p, P>,
    sql: String,
    params: Vec<P>,
}

impl<P: Clone> SqlWriter for Writer<'_, P> {
    fn push_param<B: QueryBuilder>(&mut self, value: Value, builder: &B) {
        let param = match value {
            Value::Unsigned(Some(reference)) => self.recorded.recorded.get(reference as usize).cloned(),
            // sea-query passes the rows of `LIMIT` and `OFFSET`, and nothing else, in this type.
            Value::BigUnsigned(Some(rows)) if rows >= LIMIT_REFERENCE => {
                let reference = usize::try_from(rows - LIMIT_REFERENCE).ok();
                reference.and_then(|reference| self.recorded.recorded.get(reference)).cloned()
            }
            Value::BigUnsigned(Some(rows)) => self.recorded.limit.map(|limit| limit(rows)),
            _ => None,
        };
        let Some(param) = param else {
            // This is a constant of the lowering. Writing to a String cannot fail.
            let _ = builder.write_value(&mut self.sql, &value);
            return;
        };
        self.params.push(param);
        let (placeholder, numbered) = builder.placeholder();
        self.sql.push_str(placeholder);
        if numbered {
            self.sql.push_str(&self.params.len().to_string());
        }
    }

    fn as_writer(&mut self) -> &mut dyn Write {
        self
    }
}

impl<P> Write for Writer<'_, P> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.sql.push_str(text);
        Ok(())
    }
}

impl<P> Display for Writer<'_, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sql)
    }
}

#[cfg(test)]
mod tests {
    use sea_query::{ExprTrait as _, PostgresQueryBuilder, Query, SelectStatement, SqliteQueryBuilder};

    use super::*;

    /// Returns a statement that uses the second parameter once, and then the first one twice.
    fn select(params: &mut Params<'_, &'static str>) -> SelectStatement {
        let first = params.add("first");
        let second = params.add("second");
        let mut below = Query::select();
        below.expr(second).from("below");
        let mut select = Query::select();
        select.from_subquery(below, "b").and_where(Expr::col("x").eq(first.clone()));
        select.and_where(Expr::col("y").gt(first)).and_where(Expr::col("z").eq(Expr::Constant(7.into())));
        select.limit(10).take()
    }

    #[test]
    fn parameters_follow_the_order_of_placeholders() {
        let mut params = Params::new(&[], None);
        let statement = params.add("unused");
        drop(statement);
        let select = select(&mut params);
        let statement = params.render(&select, PostgresQueryBuilder);
        assert_eq!(statement.params, ["second", "first", "first"]);
        assert_eq!(
            statement.sql,
            r#"SELECT  FROM (SELECT $1 FROM "below") AS "b" WHERE "x" = $2 AND "y" > $3 AND "z" = 7 LIMIT 10"#
        );
    }

    #[test]
    fn limits_are_parameters_where_the_dialect_binds_them() {
        let mut params = Params::new(&[], Some(|_| "limit"));
        let select = select(&mut params);
        let statement = params.render(&select, SqliteQueryBuilder);
        assert_eq!(statement.params, ["second", "first", "first", "limit"]);
        assert!(statement.sql.ends_with(r#""x" = ? AND "y" > ? AND "z" = 7 LIMIT ?"#), "{}", statement.sql);
    }
}
