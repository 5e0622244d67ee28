//! The SQL dialect of MariaDB. Values are compared in the type of their column, so that indexes can be used, or else
//! as text. The database itself would convert both sides to doubles, so that the text `abc` equals the number 0.

use mesh_schema::{NativeType, TableName};
use sea_query::{
    BinOper, Expr, ExprTrait as _, MysqlQueryBuilder, OnConflict, Query, QueryBuilder, SelectStatement,
    TableRef,
};

use super::Operand;
use super::Param;
use super::aggregate;
use super::compare;
use super::json;
use super::type_class::{TypeClass, call, charset, datetime, single, value_text};
use crate::class::Class as _;
use crate::custom;
use crate::dialect::{Dialect, IdPart};
use crate::links::table;
use crate::param;
use crate::predicate;
use crate::statement::Params;
use mesh_plan::Value;
use mesh_plan::backend::{JsonPointer, JsonType};
use mesh_plan::{Aggregate, Comparand, CompareOp};

/// The collation under which only identical texts are equal.
pub const BINARY_COLLATION: &str = "utf8mb4_nopad_bin";

/// The character set of all texts of a connection.
pub(super) const CHARSET: &str = "utf8mb4";

#[derive(Clone, Copy)]
pub(super) struct MySql<'p> {
    /// The values of parameters in the run for which the statement is built.
    pub(super) inputs: &'p [Value],
}

impl MySql<'_> {
    /// Returns the value of the input in the slot, or the given value if there is no slot.
    fn current<'v>(&'v self, (value, slot): (&'v Value, Option<usize>)) -> &'v Value {
        slot.and_then(|slot| self.inputs.get(slot)).unwrap_or(value)
    }

    /// Returns a text in the binary collation.
    fn binary(&self, text: &Operand) -> Expr {
        match &text.class {
            TypeClass::Text(Some(own)) if own != BINARY_COLLATION => {
                custom::convert(text.expr.clone(), CHARSET, BINARY_COLLATION)
            }
            TypeClass::Text(_) => text.expr.clone(),
            _ => text.to_text().expr,
        }
    }
}

impl Dialect for MySql<'_> {
    type Param = Param;
    type Operand = Operand;

    const NULL_IS_SMALLEST: bool = true;
    const REORDERS_EXISTS: bool = true;
    const RECHECKS: bool = true;
    const RETURNS_UPDATED: bool = false;

    fn builder(&self) -> impl QueryBuilder {
        MysqlQueryBuilder
    }

    fn written(&self, value: &Value, native: Option<&NativeType>) -> Param {
        let class = TypeClass::new(native);
        Param::value(match value {
            Value::Text(text) if matches!(class, TypeClass::Datetime | TypeClass::Timestamp) => {
                // The database refuses a text that is not a time.
                datetime(text).map_or_else(|| value.clone(), |(time, _)| time)
            }
            Value::Text(_) => value.clone(),
            // A number that the column would round to the largest one would be out of range.
            Value::Real(number) if class == TypeClass::Single => {
                Value::Real(single(*number).unwrap_or(*number))
            }
            // The text is the same as in other databases.
            _ if matches!(class, TypeClass::Text(_) | TypeClass::Json) => {
                value_text(value).map_or(Value::Null, Value::Text)
            }
            _ => value.clone(),
        })
    }

    fn assigned(&self, param: Expr, native: Option<&NativeType>) -> Expr {
        match TypeClass::new(native) {
            // Without the cast, the bytes would have to be text.
            TypeClass::Bytes => custom::cast(param, "BINARY"),
            // The column would take the characters of a text as its bits.
            TypeClass::Bit => custom::cast(param, "UNSIGNED"),
            _ => param,
        }
    }

    fn returning(&self, values: Vec<Expr>) -> Option<String> {
        let select = Query::select().exprs(values).to_string(MysqlQueryBuilder);
        Some([" RETURNING", select.strip_prefix("SELECT").unwrap_or(&select)].concat())
    }

    fn shown_id(&self, column: Expr, native: Option<&NativeType>) -> Expr {
        match TypeClass::new(native) {
            TypeClass::Timestamp => custom::utc_text(column),
            class => class.shown(column).0,
        }
    }

    fn compare_id(
        &self,
        params: &mut Params<Param>,
        column: Expr,
        op: CompareOp,
        part: IdPart<'_>,
        native: Option<&NativeType>,
    ) -> Expr {
        let left = self.operand(column, native);
        match part {
            IdPart::Value(value) => self.compare(params, left, op, (value, None)),
            // The database converts the value as it does in the assignment.
            IdPart::Assigned(value) if !left.class.is_bindable() => {
                left.compare(op, params.add(self.written(value, native)))
            }
            IdPart::Assigned(value) => self.compare(params, left, op, (value, None)),
            IdPart::Returned(part) => {
                let right = param::id(params, part, &left.class);
                left.to_bindable().compare(op, right)
            }
            IdPart::Expr(right) => left.compare(op, right),
        }
    }

    fn ignore_conflict(&self, table: &TableName, column: &str) -> OnConflict {
        let same = Expr::col((table.name.clone(), column.to_owned()));
        OnConflict::new().value(column.to_owned(), same).to_owned()
    }

    fn written_id(&self, part: usize, _native: Option<&NativeType>) -> Param {
        Param::written_id(part, TypeClass::Unknown)
    }

    fn operand(&self, expr: Expr, native: Option<&NativeType>) -> Operand {
        let has_nondeterministic_collation =
            native.is_some_and(|native| native.has_nondeterministic_collation);
        Operand { has_nondeterministic_collation, ..Operand::new(expr, TypeClass::new(native)) }
    }

    fn with_expr(&self, operand: Operand, expr: Expr) -> Operand {
        Operand { expr, ..operand }
    }

    fn comparable(&self, operand: Operand) -> Operand {
        operand.comparable()
    }

    fn group_key(&self, operand: Operand) -> Operand {
        operand.complete().comparable()
    }

    fn is_null(&self, operand: Operand, negated: bool) -> Expr {
        let value = operand.complete().expr;
        if negated { value.is_not_null() } else { value.is_null() }
    }

    fn table(&self, name: &TableName) -> TableRef {
        table(name)
    }

    fn compare_same_type(&self, left: Expr, op: CompareOp, right: Expr, _: Option<&NativeType>) -> Expr {
        predicate::compare(left, op, right)
    }

    fn is_in_subquery(&self, left: Expr, select: SelectStatement, _: Option<&NativeType>) -> Expr {
        left.in_subquery(select)
    }

    fn equal(&self, left: Operand, right: Operand) -> Expr {
        if !left.class.compares_with(&right.class) {
            return left.to_text().expr.eq(right.to_text().expr);
        }
        let right = match (&left.class, &right.class) {
            // Only the right side is converted, so that an index on the left column can be used.
            (TypeClass::Text(Some(collation)), TypeClass::Text(other))
                if other.as_ref() != Some(collation) =>
            {
                custom::convert(right.expr, charset(collation), collation)
            }
            _ => right.expr,
        };
        left.expr.eq(right)
    }

    fn compare(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        op: CompareOp,
        value: (&Value, Option<usize>),
    ) -> Expr {
        compare::compare(params, &left, op, (self.current(value), value.1))
    }

    fn compare_session(&self, params: &mut Params<Param>, left: Operand, op: CompareOp, slot: usize) -> Expr {
        let right = param::session(params, slot, &left.class);
        left.to_bindable().compare(op, right)
    }

    fn is_in_session(&self, params: &mut Params<Param>, left: Operand, slot: usize, negated: bool) -> Expr {
        let list = param::session_list(params, slot, &left.class);
        let ty = left.class.list_type();
        let left = left.to_bindable();
        let collation = match &left.class {
            TypeClass::Text(Some(collation)) => Some((charset(collation), collation.as_str())),
            TypeClass::Text(None) => Some((CHARSET, BINARY_COLLATION)),
            _ => None,
        };
        custom::is_in_json(left.expr, list, ty, collation, negated)
    }

    fn is_in(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        values: &[Comparand<Value>],
        negated: bool,
    ) -> Expr {
        let values: Vec<_> = values
            .iter()
            .map(|value| {
                let (sample, slot) = value.parts();
                (self.current((sample, slot)), slot)
            })
            .collect();
        compare::is_in(params, &left, &values, negated)
    }

    fn like(
        &self,
        params: &mut Params<Param>,
        left: Operand,
        (pattern, slot): (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr {
        let pattern = param::pattern(params, pattern, slot);
        // Patterns need a collation under which only identical texts are equal.
        let left = self.binary(&left);
        if ignore_case {
            return call("LOWER", left).binary(BinOper::Like, call("LOWER", pattern));
        }
        left.binary(BinOper::Like, pattern)
    }

    fn json(&self, params: &mut Params<Param>, document: Operand, at: &JsonPointer, ty: JsonType) -> Operand {
        json::find(params, &document, at, ty)
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Operand>) -> Operand {
        aggregate::lower(call, column)
    }
}
