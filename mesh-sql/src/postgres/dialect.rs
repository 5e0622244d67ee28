//! The SQL dialect of PostgreSQL. Values are compared in the type of their column, so that indexes can be used, or else as
//! text.

use mesh_schema::{NativeKind, NativeType, TableName};
use sea_query::{Expr, ExprTrait as _, PostgresQueryBuilder, QueryBuilder, SelectStatement, TableRef};

use super::Operand;
use super::Param;
use super::aggregate;
use super::bucket;
use super::charset::Charset;
use super::compare::{self, never};
use super::json;
use super::search;
use super::type_class::TypeClass;
use crate::class::Class as _;
use crate::custom::{any_of, built_in, collate, from_json, operator};
use crate::dialect::{Dialect, Elements, Operands};
use crate::param;
use crate::statement::{Params, ValueOrInput};
use mesh_plan::Value;
use mesh_plan::backend::{JsonPointer, JsonType};
use mesh_plan::plan::{Aggregate, Bucket, CompareOp, Search};

/// The dialect of PostgreSQL, with the features and settings in which databases differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Postgres {
    /// Whether the database has the collation `und-x-icu`, and its default collation would fold only ASCII letters.
    pub icu_folds: bool,
    /// Whether the database has the test `IS JSON` for texts.
    pub is_json: bool,
    /// The characters that the encoding of the database has.
    pub charset: Charset,
    /// The schema of tables whose names have none; `None` to leave it to the search path.
    pub default_schema: Option<String>,
}

impl Postgres {
    /// Returns the name of a table with its schema, if that is known.
    pub(super) fn qualified(&self, name: &TableName) -> TableName {
        let schema = name.schema.as_ref().or(self.default_schema.as_ref());
        TableName { schema: schema.cloned(), name: name.name.clone() }
    }
}

impl Dialect for Postgres {
    type Class = TypeClass;

    const NULL_IS_SMALLEST: bool = false;

    fn builder(&self) -> impl QueryBuilder {
        PostgresQueryBuilder
    }

    fn assigned(&self, param: Expr, native: Option<&NativeType>) -> Expr {
        match native.filter(|native| native.kind == NativeKind::Composite) {
            Some(native) => from_json(param, &native.name),
            None => param,
        }
    }

    fn id_part(&self, value: &Value, native: Option<&NativeType>) -> Param {
        match value {
            Value::Text(text) if !self.charset.can_store(text) => Param::Value(Value::Null),
            value => self.written(value, native),
        }
    }

    fn shown_id(&self, column: Expr, native: Option<&NativeType>) -> Expr {
        match TypeClass::of(native) {
            // The type of a column of another database is not known.
            TypeClass::Unknown => column,
            class => class.shown(column).0,
        }
    }

    fn table(&self, name: &TableName) -> TableRef {
        let name = self.qualified(name);
        match name.schema {
            Some(schema) => (schema, name.name).into(),
            None => name.name.into(),
        }
    }

    fn is_in_subquery(&self, left: Expr, select: SelectStatement, native: Option<&NativeType>) -> Expr {
        self.compare_same_type(left, CompareOp::Eq, any_of(select), native)
    }

    fn equal(&self, left: Operand, right: Operand) -> Expr {
        if left.class.compares_with(&right.class) {
            // Values of an extension's type are compared with one another by the extension's operator, and with other values as
            // text.
            let schema = left.class.schema().filter(|schema| right.class.schema() == Some(*schema));
            operator(left.expr.clone(), CompareOp::Eq, schema, right.expr)
        } else {
            operator(left.to_text().expr, CompareOp::Eq, None, right.to_text().expr)
        }
    }

    fn compare(
        &self,
        params: &mut Params<'_, Param>,
        left: &Operand,
        op: CompareOp,
        (value, slot): ValueOrInput<'_>,
    ) -> Expr {
        compare::compare(params, left, op, (&*self.charset.known(value), slot))
    }

    fn is_in_session(&self, left: Operand, list: Expr, negated: bool) -> Expr {
        compare::any_or_all(&left.to_bindable(), list, negated)
    }

    fn is_in(
        &self,
        params: &mut Params<'_, Param>,
        left: Operand,
        values: &[ValueOrInput<'_>],
        negated: bool,
    ) -> Expr {
        let known: Vec<_> = values.iter().map(|(value, slot)| (self.charset.known(value), *slot)).collect();
        let values: Vec<_> = known.iter().map(|(value, slot)| (&**value, *slot)).collect();
        compare::is_in(params, &left, &values, negated)
    }

    fn like(
        &self,
        params: &mut Params<'_, Param>,
        left: Operand,
        (pattern, slot): (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr {
        if !self.charset.can_store(pattern) {
            return never(&left);
        }
        let pattern = param::pattern(params, pattern, slot);
        let has_nondeterministic_collation = left.has_nondeterministic_collation;
        let left = if left.class == TypeClass::Text("text") { left.expr } else { left.to_text().expr };
        // Patterns need a collation under which only identical texts are equal.
        let collation = match (ignore_case, self.icu_folds) {
            (true, true) => Some("und-x-icu"),
            (true, false) => has_nondeterministic_collation.then_some("default"),
            (false, _) => has_nondeterministic_collation.then_some("C"),
        };
        let left = match collation {
            Some(collation) => collate(left, collation),
            None => left,
        };
        left.binary(built_in(if ignore_case { "~~*" } else { "~~" }), pattern)
    }

    fn json(
        &self,
        params: &mut Params<'_, Param>,
        document: Operand,
        at: &JsonPointer,
        ty: JsonType,
    ) -> Operand {
        json::find(params, &self.charset, self.is_json, &document, at, ty)
    }

    fn json_has(&self, params: &mut Params<'_, Param>, document: Operand, elements: &Elements<'_>) -> Expr {
        json::has(params, &self.charset, self.is_json, &document, elements)
    }

    fn bucket(&self, value: Operand, bucket: &Bucket) -> Operand {
        bucket::lower(value, bucket)
    }

    fn has_zone(&self, zone: &str) -> Expr {
        bucket::has_zone(zone)
    }

    fn search(&self, params: &mut Params<'_, Param>, operands: &Operands<'_, Self>, search: &Search) -> Expr {
        search::lower(params, operands, &self.charset.known_search(search))
    }

    fn relevance(
        &self,
        params: &mut Params<'_, Param>,
        operands: &Operands<'_, Self>,
        search: &Search,
    ) -> Expr {
        search::relevance(params, operands, &self.charset.known_search(search))
    }

    fn aggregate(&self, call: &Aggregate, column: Option<Operand>) -> Operand {
        aggregate::lower(call, column)
    }
}
