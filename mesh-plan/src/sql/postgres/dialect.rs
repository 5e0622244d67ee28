//! PostgreSQL's SQL. A value is compared in the type of its column, so that indexes serve, or else as text.

use mesh_schema::NativeType;
use sea_query::extension::postgres::PgBinOper;
use sea_query::{BinOper, Expr, ExprTrait as _, PostgresQueryBuilder, QueryBuilder};

use super::aggregate;
use super::compare::{self, never};
use super::operand::Operand;
use super::param::{self, Param};
use super::type_class::TypeClass;
use crate::Value;
use crate::plan::{Aggregate, CompareOp};
use crate::sql::custom::collate;
use crate::sql::dialect::Dialect;
use crate::sql::predicate;
use crate::sql::statement::Params;
use crate::value::like;

/// What a database can do beyond what all of them can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// It has the collation `und-x-icu`, and its default collation would fold ASCII letters only.
    pub icu_folds: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Postgres {
    pub(super) features: Features,
}

impl Dialect for Postgres {
    type Param = Param;
    type Operand = Operand;

    const NULL_IS_SMALLEST: bool = false;
    const RECHECKS: bool = true;

    fn builder(&self) -> impl QueryBuilder {
        PostgresQueryBuilder
    }

    fn value(&self, value: &Value) -> Param {
        Param::written(value)
    }

    fn written_id(&self) -> Param {
        Param::written_id()
    }

    fn operand(&self, expr: Expr, native: Option<&NativeType>) -> Operand {
        Operand { expr, class: TypeClass::new(native) }
    }

    fn with_expr(&self, operand: Operand, expr: Expr) -> Operand {
        Operand { expr, ..operand }
    }

    fn comparable(&self, operand: Operand) -> Operand {
        operand.comparable()
    }

    fn equal(&self, left: Operand, right: Operand) -> Expr {
        if left.class.compares_with(&right.class) {
            left.expr.eq(right.expr)
        } else {
            left.to_text().expr.eq(right.to_text().expr)
        }
    }

    fn compare(&self, params: &mut Params<Param>, left: Operand, op: CompareOp, value: &Value) -> Expr {
        compare::compare(params, &left, op, value)
    }

    fn compare_session(&self, params: &mut Params<Param>, left: Operand, op: CompareOp, slot: usize) -> Expr {
        let right = param::session(params, slot, &left.class);
        predicate::compare(left.holder().expr, op, right)
    }

    fn is_in(&self, params: &mut Params<Param>, left: Operand, values: &[Value], negated: bool) -> Expr {
        compare::is_in(params, &left, values, negated)
    }

    fn like(&self, params: &mut Params<Param>, left: Operand, pattern: &str, ignore_case: bool) -> Expr {
        if pattern.contains('\0') {
            return never(&left);
        }
        let pattern = param::text(params, like::escape_end(pattern), "text");
        let left = if left.class == TypeClass::Text("text") { left.expr } else { left.to_text().expr };
        match (ignore_case, self.features.icu_folds) {
            (false, _) => left.binary(BinOper::Like, pattern),
            (true, false) => left.binary(PgBinOper::ILike, pattern),
            (true, true) => collate(left, "und-x-icu").binary(PgBinOper::ILike, pattern),
        }
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Operand>) -> Operand {
        aggregate::lower(call, column)
    }
}
