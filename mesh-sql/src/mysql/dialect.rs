//! The SQL dialect of MariaDB. Values are compared in the type of their column, so that indexes can be used, or else
//! as text. The database itself would convert both sides to doubles, so that the text `abc` equals the number 0.

use mesh_schema::{NativeType, TableName};
use sea_query::{BinOper, Expr, ExprTrait as _, MysqlQueryBuilder, OnConflict, Query, QueryBuilder};

use super::Operand;
use super::Param;
use super::aggregate;
use super::bucket;
use super::charset::{BINARY_COLLATION, CHARSET};
use super::json;
use super::search;
use super::type_class::{TypeClass, call, charset};
use crate::class::Class as _;
use crate::custom;
use crate::dialect::{self, Dialect, Elements, IdPart, Operands};
use crate::param;
use crate::statement::{Params, ValueOrInput};
use mesh_plan::backend::{JsonPointer, JsonType};
use mesh_plan::plan::{Aggregate, Bucket, CompareOp, Search};

/// The dialect of MariaDB.
#[derive(Clone, Copy, Debug, Default)]
pub struct MySql;

impl MySql {
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

impl Dialect for MySql {
    type Class = TypeClass;

    const NULL_IS_SMALLEST: bool = true;
    const RETURNS_UPDATED: bool = false;

    fn builder(&self) -> impl QueryBuilder {
        MysqlQueryBuilder
    }

    fn assigned(&self, param: Expr, native: Option<&NativeType>) -> Expr {
        match TypeClass::of(native) {
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
        match TypeClass::of(native) {
            TypeClass::Timestamp => custom::utc_text(column),
            class => class.shown(column).0,
        }
    }

    fn compare_id(
        &self,
        params: &mut Params<'_, Param>,
        column: Expr,
        op: CompareOp,
        part: IdPart<'_>,
        native: Option<&NativeType>,
    ) -> Expr {
        let left = Operand::of(column, native);
        match part {
            // The database converts the value as it does in the assignment.
            IdPart::Assigned(value) if !left.class.is_bindable() => {
                left.compare(op, params.add(self.written(value, native)))
            }
            IdPart::Value(value) | IdPart::Assigned(value) => self.compare(params, &left, op, (value, None)),
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

    fn is_in_session(&self, left: Operand, list: Expr, negated: bool) -> Expr {
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
        params: &mut Params<'_, Param>,
        left: Operand,
        values: &[ValueOrInput<'_>],
        negated: bool,
    ) -> Expr {
        let mut types = values.iter().map(|(value, _)| left.class.read(value).map(|(_, ty)| ty));
        // The values are a list if all compare in the same type; otherwise each is compared on its own.
        if let Some(ty) = types.next().flatten()
            && types.all(|other| other == Some(ty))
        {
            let list = values.iter().map(|it| param::value_or_input(params, &left.class, Some(ty), *it));
            let list: Vec<_> = list.collect();
            let left = left.class.in_type(left.expr, ty);
            return if negated { left.is_not_in(list) } else { left.is_in(list) };
        }
        let parts = values.iter().map(|value| dialect::compare(params, &left, CompareOp::Eq, *value));
        let any = parts.reduce(Expr::or).unwrap_or_else(Expr::null);
        if negated { any.not() } else { any }
    }

    fn like(
        &self,
        params: &mut Params<'_, Param>,
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

    fn json(
        &self,
        params: &mut Params<'_, Param>,
        document: Operand,
        at: &JsonPointer,
        ty: JsonType,
    ) -> Operand {
        json::find(params, &document, at, ty)
    }

    fn json_has(&self, params: &mut Params<'_, Param>, document: Operand, elements: &Elements<'_>) -> Expr {
        json::has(params, &document, elements, |params, element, values| {
            self.is_in(params, element, values, false)
        })
    }

    fn bucket(&self, value: Operand, bucket: &Bucket) -> Operand {
        bucket::lower(value, bucket)
    }

    fn has_zone(&self, zone: &str) -> Expr {
        bucket::has_zone(zone)
    }

    fn search(&self, params: &mut Params<'_, Param>, operands: &Operands<'_, Self>, search: &Search) -> Expr {
        search::lower(params, operands, search)
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
        aggregate::lower(call, column)
    }
}
