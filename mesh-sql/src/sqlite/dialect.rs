//! The SQL dialect of SQLite.

use mesh_ql::AggregateFn;
use mesh_schema::{NativeType, TableName};
use sea_query::{Expr, ExprTrait as _, Func, QueryBuilder, SelectStatement, SqliteQueryBuilder, TableRef};

use super::functions;
use super::list;
use super::operand::Operand;
use super::param::Param;
use super::prefix;
use crate::custom;
use crate::dialect::Dialect;
use crate::links::table;
use crate::statement::{Params, Statement};
use mesh_plan::{Aggregate, Comparand, CompareOp};
use mesh_plan::{JsonPointer, JsonType, Value};

/// The maximum number of values of a list that are bound one by one. Longer lists are one parameter, so that SQLite's limit of
/// 32,766 parameters is not reached.
const LISTED_MAX: usize = 64;

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
    type Operand = Operand;

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

    fn written(&self, value: &Value, _native: Option<&NativeType>) -> Param {
        Param::Value(value.clone())
    }

    fn written_id(&self, part: usize, _native: Option<&NativeType>) -> Param {
        Param::Id(part)
    }

    fn operand(&self, expr: Expr, native: Option<&NativeType>) -> Operand {
        Operand::new(expr, native)
    }

    fn with_expr(&self, operand: Operand, expr: Expr) -> Operand {
        Operand { expr, ..operand }
    }

    fn comparable(&self, operand: Operand) -> Operand {
        Operand { expr: operand.comparable(), ..operand }
    }

    fn updated(&self, current: Expr, new: Expr, native: Option<&NativeType>) -> Expr {
        let current = Operand::new(current, native);
        if current.mixed.is_none() {
            return new;
        }
        // A value that was read and is written back stays as it is stored.
        let is_equal = current.compare(CompareOp::Eq, new.clone());
        Expr::case(is_equal, current).finally(new).into()
    }

    fn parent_key(&self, operand: Operand, is_same_type: bool) -> Expr {
        if is_same_type { operand.expr } else { custom::without_affinity(operand.expr) }
    }

    fn has_few_rows(&self, params: &Params<Param>, rows: &SelectStatement) -> bool {
        self.probe.are_few(&params.render(rows, SqliteQueryBuilder))
    }

    fn table(&self, name: &TableName) -> TableRef {
        table(name)
    }

    fn compare_same_type(&self, left: Expr, op: CompareOp, right: Expr, native: Option<&NativeType>) -> Expr {
        Operand::key(left, native).compare(op, right)
    }

    fn is_in_subquery(&self, left: Expr, select: SelectStatement, _: Option<&NativeType>) -> Expr {
        left.in_subquery(select)
    }

    fn equal(&self, left: Operand, right: Operand) -> Expr {
        let mixed = left.mixed.clone().or(right.mixed);
        Operand { mixed, ..left }.compare(CompareOp::Eq, right.expr)
    }

    fn compare(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        op: CompareOp,
        value: (&Value, Option<usize>),
    ) -> Expr {
        left.compare(op, params.add(value_or_input(value)))
    }

    fn compare_session(&self, params: &mut Params<Param>, left: Operand, op: CompareOp, slot: usize) -> Expr {
        left.compare(op, params.add(Param::Session(slot)))
    }

    fn is_in_session(&self, params: &mut Params<Param>, left: Operand, slot: usize, negated: bool) -> Expr {
        left.is_in_list(params.add(Param::SessionList(slot)), negated)
    }

    fn is_in(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        values: &[Comparand<Value>],
        negated: bool,
    ) -> Expr {
        if values.len() > LISTED_MAX {
            let parts = values.iter().map(Comparand::parts);
            let list = if parts.clone().all(|(_, slot)| slot.is_none()) {
                Param::Value(list::array(parts.map(|(value, _)| value)))
            } else {
                Param::List(parts.map(|(value, slot)| (value.clone(), slot)).collect())
            };
            return left.is_in_list(params.add(list), negated);
        }
        let values = values.iter().map(|value| left.form(params.add(value_or_input(value.parts()))));
        let values: Vec<Expr> = values.collect();
        let left = left.comparable();
        if negated { left.is_not_in(values) } else { left.is_in(values) }
    }

    fn like(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr {
        let left = left.expr;
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

    fn json(&self, params: &mut Params<Param>, document: Operand, at: &JsonPointer, ty: JsonType) -> Operand {
        let at = params.add(Param::Value(at.to_string().into()));
        let ty = Expr::Constant(ty.name().into());
        Operand::new(Func::cust(functions::JSON).arg(document.expr).arg(at).arg(ty).into(), None)
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Operand>) -> Operand {
        // SQLite would count all rows of a table for `count(*)` in one step, which cannot be interrupted.
        let Some(column) = column else { return Operand::new(Func::count(Expr::cust("1")).into(), None) };
        let (function, distinct) = match call.function {
            AggregateFn::Count => ("COUNT", call.distinct),
            AggregateFn::Sum => (functions::SUM, call.distinct),
            AggregateFn::Avg => ("AVG", call.distinct),
            // Duplicates do not change the minimum or the maximum.
            AggregateFn::Min => ("MIN", false),
            AggregateFn::Max => ("MAX", false),
        };
        let is_value = matches!(call.function, AggregateFn::Min | AggregateFn::Max);
        let compares = is_value || distinct;
        let values = if compares { column.comparable() } else { column.expr };
        let expr = custom::aggregate(function, values, distinct.then_some("DISTINCT ?"));
        Operand { expr, mixed: column.mixed.filter(|_| is_value) }
    }
}
