//! The SQL dialect of SQLite.

use mesh_ql::{AggregateFn, TimeUnit};
use mesh_schema::{NativeType, TimeForm};
use sea_query::{Expr, ExprTrait as _, Func, Query, QueryBuilder, SqliteQueryBuilder};

use super::class::Mixed;
use super::{Operand, Param, functions, search, time_form_name};
use crate::class::{Class as _, ParamType};
use crate::dialect::{Dialect, Elements, Operands};
use crate::pattern::prefix_bound;
use crate::statement::{Params, ValueOrInput};
use crate::{custom, param};
use mesh_plan::Mutation;
use mesh_plan::backend::{JsonPointer, JsonType};
use mesh_plan::plan::{Aggregate, Bucket, CompareOp, Search};

/// The maximum number of values of a list that are bound one by one. Longer lists are one parameter, so that SQLite's limit of
/// 32,766 parameters is not reached.
const LISTED_MAX: usize = 64;

/// The dialect of SQLite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sqlite {
    /// Whether SQLite counts the rows that an `UPDATE` of the written entity changes: it does for tables, but not for views. If
    /// it does, an update that keeps the id has no `RETURNING` clause. SQLite would fill a temporary table for the clause, which
    /// is a quarter of its work for an update.
    pub counts_updated: bool,
}

impl Sqlite {
    /// The dialect of reads, and of writes to entities whose changed rows SQLite does not count.
    pub const PLAIN: Self = Self { counts_updated: false };
}

impl Dialect for Sqlite {
    type Class = Mixed;

    const NULL_IS_SMALLEST: bool = true;
    const REORDERS_EXISTS: bool = false;
    // A write holds the lock on the file from its first statement on.
    const RECHECKS: bool = false;

    /// Many parameters would make the texts of cached statements large. SQLite's own limit is 32,766.
    const CREATED_PARAMS_MAX: usize = 1_024;
    // Beyond it, the cost per record hardly decreases.
    const CREATED_ROWS_MAX: Option<usize> = Some(64);

    fn counts_updated(&self) -> bool {
        self.counts_updated
    }

    fn builder(&self) -> impl QueryBuilder {
        SqliteQueryBuilder
    }

    fn updated(&self, current: Expr, new: Expr, native: Option<&NativeType>) -> Expr {
        if native.is_none() {
            return new;
        }
        // A value that was read and is written back stays as it is stored.
        let is_equal = Mixed::of(native).compare(current.clone(), CompareOp::Eq, new.clone());
        Expr::case(is_equal, current).finally(new).into()
    }

    /// Makes a statement fail if it violates a rule. Otherwise a table may replace records that policies hide from the writer.
    /// Other tables need no clause, which would also apply to the statements of their triggers.
    fn complete_write(&self, sql: &mut String, mutation: &Mutation) {
        let subjects = [Some(mutation.subject()), mutation.action().other().map(|other| &other.subject)];
        if subjects.into_iter().flatten().any(|subject| subject.entity().resolves_conflicts) {
            for command in ["INSERT", "UPDATE"] {
                if sql.starts_with(command) {
                    sql.insert_str(command.len(), " OR ABORT");
                }
            }
        }
    }

    fn parent_key(&self, key: Expr, is_same_type: bool) -> Expr {
        if is_same_type { key } else { custom::without_affinity(key) }
    }

    fn equal(&self, left: Operand, right: Operand) -> Expr {
        let class = if left.class == Mixed::ONE_FORM { right.class } else { left.class };
        class.compare(left.expr, CompareOp::Eq, right.expr)
    }

    fn is_in_session(&self, left: Operand, list: Expr, negated: bool) -> Expr {
        is_in_list(left, list, negated)
    }

    fn is_in(
        &self,
        params: &mut Params<'_, Param>,
        left: Operand,
        values: &[ValueOrInput<'_>],
        negated: bool,
    ) -> Expr {
        let class = left.class.clone();
        if values.len() > LISTED_MAX {
            let list = param::list(params, &class, Some(ParamType::Inferred), values);
            return is_in_list(left, list, negated);
        }
        let values = values.iter().map(|value| {
            class.one_form(param::value_or_input(params, &class, Some(ParamType::Inferred), *value))
        });
        let values: Vec<Expr> = values.collect();
        let left = left.comparable().expr;
        if negated { left.is_not_in(values) } else { left.is_in(values) }
    }

    fn like(
        &self,
        params: &mut Params<'_, Param>,
        left: Operand,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr {
        let left = left.expr;
        // No index contains the result of a function.
        let is_stored = !ignore_case && !matches!(left, Expr::FunctionCall(_));
        let range = if is_stored { prefix_range(params, &left, pattern) } else { None };
        let function = if ignore_case { functions::ILIKE } else { functions::LIKE };
        let (pattern, slot) = pattern;
        let pattern = param::pattern(params, pattern, slot);
        let matches: Expr = Func::cust(function).arg(left).arg(pattern).into();
        match range {
            Some(range) => range.and(matches),
            None => matches,
        }
    }

    fn json(
        &self,
        params: &mut Params<'_, Param>,
        document: Operand,
        at: &JsonPointer,
        ty: JsonType,
    ) -> Operand {
        let at = params.add(Param::Value(at.to_string().into()));
        let ty = Expr::Constant(ty.as_str().into());
        Operand::new(Func::cust(functions::JSON).arg(document.expr).arg(at).arg(ty).into(), Mixed::ONE_FORM)
    }

    fn json_has(&self, params: &mut Params<'_, Param>, document: Operand, elements: &Elements<'_>) -> Expr {
        let at = params.add(Param::Value(elements.at.to_string().into()));
        let values = param::list(params, &Mixed::ONE_FORM, Some(ParamType::Inferred), &elements.values);
        let function = Func::cust(functions::JSON_HAS).arg(document.expr).arg(at);
        let function = function.arg(Expr::Constant(elements.ty.as_str().into())).arg(values);
        function.arg(Expr::Constant(elements.all.into())).into()
    }

    fn bucket(&self, value: Operand, bucket: &Bucket) -> Operand {
        let zone = bucket.zone.as_deref();
        Operand::new(period(value.expr, bucket.unit, bucket.time_form, zone), Mixed::ONE_FORM)
    }

    fn has_zone(&self, zone: &str) -> Expr {
        period(Expr::Constant(0.into()), TimeUnit::Day, None, Some(zone)).is_not_null()
    }

    fn search(&self, params: &mut Params<'_, Param>, operands: &Operands<'_, Self>, search: &Search) -> Expr {
        search::lower(params, operands, search, |name| self.table(name))
    }

    fn relevance(
        &self,
        params: &mut Params<'_, Param>,
        operands: &Operands<'_, Self>,
        search: &Search,
    ) -> Expr {
        search::relevance(params, operands, search)
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Operand>) -> Operand {
        // SQLite would count all rows of a table for `count(*)` in one step, which cannot be interrupted.
        let Some(column) = column else {
            return Operand::new(Func::count(Expr::cust("1")).into(), Mixed::ONE_FORM);
        };
        let (function, distinct) = match call.function {
            AggregateFn::Count => ("COUNT", call.distinct),
            AggregateFn::Sum => (functions::SUM, call.distinct),
            AggregateFn::Avg => ("AVG", call.distinct),
            // Duplicates do not change the minimum or the maximum.
            AggregateFn::Min => ("MIN", false),
            AggregateFn::Max => ("MAX", false),
        };
        let is_value = matches!(call.function, AggregateFn::Min | AggregateFn::Max);
        let column = if is_value || distinct { column.comparable() } else { column };
        let expr = custom::aggregate(function, column.expr, distinct.then_some("DISTINCT ?"));
        Operand::new(expr, if is_value { column.class } else { Mixed::ONE_FORM })
    }
}

fn period(value: Expr, unit: TimeUnit, form: Option<TimeForm>, zone: Option<&str>) -> Expr {
    let zone = zone.map_or_else(Expr::null, |zone| Expr::Constant(zone.into()));
    let function = Func::cust(functions::PERIOD).arg(value).arg(Expr::Constant(unit.as_str().into()));
    function.arg(Expr::Constant(time_form_name(form).into())).arg(zone).into()
}

/// Tests whether a value is in a list of [`super::list`].
fn is_in_list(left: Operand, list: Expr, negated: bool) -> Expr {
    let mut values = Query::select();
    let value = left.class.one_form(Func::cust(functions::ELEMENT).arg(Expr::col("value")).into());
    values.expr(value).from_function(Func::cust("json_each").arg(list), "l");
    let left = left.comparable().expr;
    if negated { left.not_in_subquery(values) } else { left.in_subquery(values) }
}

/// Returns a condition that all texts which match a pattern meet, and that other texts may meet too, so that an index can be
/// used. `None` if the pattern does not begin with literal characters. If there is a slot, the pattern is that of the input in
/// the slot.
///
/// The texts are compared in the binary collation, regardless of the collation of the column, because no other collation keeps
/// texts with the same beginning together. An index with another collation is not used, which does not change the result.
fn prefix_range(
    params: &mut Params<'_, Param>,
    text: &Expr,
    (pattern, slot): (&str, Option<usize>),
) -> Option<Expr> {
    let mut add = |is_end| {
        let text = prefix_bound(pattern, is_end)?;
        Some(params.add(match slot {
            Some(slot) => Param::PatternBound(slot, is_end),
            None => Param::Value(text.into()),
        }))
    };
    let text = || custom::collate(text.clone(), "BINARY");
    Some(text().gte(add(false)?).and(text().lt(add(true)?)))
}
