//! The SQL dialect of SQLite. Operands are plain expressions, because SQLite compares values of all types.

use mesh_ql::AggregateFn;
use mesh_schema::{NativeType, TableName};
use sea_query::{Expr, ExprTrait as _, Func, QueryBuilder, SelectStatement, SqliteQueryBuilder, TableRef};

use super::functions;
use super::param::Param;
use super::prefix;
use crate::plan::{Aggregate, Comparand, CompareOp};
use crate::sql::custom;
use crate::sql::dialect::Dialect;
use crate::sql::links::table;
use crate::sql::predicate::compare;
use crate::sql::statement::{Params, Statement};
use crate::{JsonPointer, JsonType, Value};

#[derive(Clone, Copy)]
pub(super) struct Sqlite<'a> {
    pub(super) probe: &'a dyn Probe,
    pub(super) counts_updated: bool,
}

impl Sqlite<'static> {
    /// The dialect for a database about which nothing is known.
    pub(super) const PLAIN: Self = Self { probe: &(), counts_updated: false };
}

/// Information about the rows of a database, which is available before a plan is read.
pub trait Probe {
    /// Returns whether SQLite sorts all rows of a statement before it takes the rows of the page. No records are joined to such
    /// a statement, because they would be joined to all rows.
    fn sorts(&self, statement: &Statement<Param>) -> bool;

    /// Returns whether a statement has few rows, which are found quickly. If a condition requires few related records, these
    /// are found first, and the rows are found through them.
    fn are_few(&self, statement: &Statement<Param>) -> bool;
}

/// A probe for a database about which nothing is known.
impl Probe for () {
    fn sorts(&self, _: &Statement<Param>) -> bool {
        false
    }

    fn are_few(&self, _: &Statement<Param>) -> bool {
        false
    }
}

/// Returns the parameter for a value, or for the input in the slot.
fn value_or_input((value, slot): (&Value, Option<usize>)) -> Param {
    slot.map_or_else(|| Param::Value(value.clone()), Param::Input)
}

impl Dialect for Sqlite<'_> {
    type Param = Param;
    type Operand = Expr;

    const NULL_IS_SMALLEST: bool = true;
    const REORDERS_EXISTS: bool = false;
    // A write holds the lock on the file from its first statement on.
    const RECHECKS: bool = false;

    fn counts_updated(&self) -> bool {
        self.counts_updated
    }

    fn builder(&self) -> impl QueryBuilder {
        SqliteQueryBuilder
    }

    fn value(&self, value: &Value) -> Param {
        Param::Value(value.clone())
    }

    fn written_id(&self, part: usize) -> Param {
        Param::Id(part)
    }

    fn operand(&self, expr: Expr, _: Option<&NativeType>) -> Expr {
        expr
    }

    fn with_expr(&self, _: Expr, expr: Expr) -> Expr {
        expr
    }

    fn parent_key(&self, operand: Expr, is_same_type: bool) -> Expr {
        if is_same_type { operand } else { custom::without_affinity(operand) }
    }

    fn has_few_rows(&self, params: &Params<Param>, rows: &SelectStatement) -> bool {
        self.probe.are_few(&params.render(rows, SqliteQueryBuilder))
    }

    fn table(&self, name: &TableName) -> TableRef {
        table(name)
    }

    fn compare_same_type(&self, left: Expr, op: CompareOp, right: Expr, _: Option<&NativeType>) -> Expr {
        compare(left, op, right)
    }

    fn is_in_subquery(&self, left: Expr, select: SelectStatement, _: Option<&NativeType>) -> Expr {
        left.in_subquery(select)
    }

    fn equal(&self, left: Expr, right: Expr) -> Expr {
        left.eq(right)
    }

    fn compare(
        &self,
        params: &mut Params<Param>,
        left: Expr,
        op: CompareOp,
        value: (&Value, Option<usize>),
    ) -> Expr {
        compare(left, op, params.add(value_or_input(value)))
    }

    fn compare_session(&self, params: &mut Params<Param>, left: Expr, op: CompareOp, slot: usize) -> Expr {
        compare(left, op, params.add(Param::Session(slot)))
    }

    fn is_in_session(&self, params: &mut Params<Param>, left: Expr, slot: usize, negated: bool) -> Expr {
        let values = custom::values_of_json(params.add(Param::SessionList(slot)));
        if negated { left.not_in_subquery(values) } else { left.in_subquery(values) }
    }

    fn is_in(
        &self,
        params: &mut Params<Param>,
        left: Expr,
        values: &[Comparand<Value>],
        negated: bool,
    ) -> Expr {
        let values = values.iter().map(|value| params.add(value_or_input(value.parts())));
        if negated { left.is_not_in(values) } else { left.is_in(values) }
    }

    fn like(
        &self,
        params: &mut Params<Param>,
        left: Expr,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr {
        // No index contains the result of a function.
        let is_stored = !ignore_case && !matches!(left, Expr::FunctionCall(_));
        let range = if is_stored { prefix::range(params, &left, pattern) } else { None };
        let function = if ignore_case { functions::ILIKE } else { functions::LIKE };
        let (pattern, slot) = pattern;
        let pattern = params.add(slot.map_or_else(|| Param::Value(pattern.into()), Param::Input));
        let matches: Expr = Func::cust(function).arg(left).arg(pattern).into();
        match range {
            Some(range) => range.and(matches),
            None => matches,
        }
    }

    fn json(&self, params: &mut Params<Param>, document: Expr, at: &JsonPointer, ty: JsonType) -> Expr {
        let at = params.add(Param::Value(at.to_string().into()));
        let ty = Expr::Constant(ty.name().into());
        Func::cust(functions::JSON).arg(document).arg(at).arg(ty).into()
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Expr>) -> Expr {
        // SQLite would count all rows of a table for `count(*)` in one step, which cannot be interrupted.
        let Some(column) = column else { return Func::count(Expr::cust("1")).into() };
        let (function, distinct) = match call.function {
            AggregateFn::Count => ("COUNT", call.distinct),
            AggregateFn::Sum => (functions::SUM, call.distinct),
            AggregateFn::Avg => ("AVG", call.distinct),
            // Duplicates do not change the minimum or the maximum.
            AggregateFn::Min => ("MIN", false),
            AggregateFn::Max => ("MAX", false),
        };
        custom::aggregate(function, column, distinct.then_some("DISTINCT ?"))
    }
}
