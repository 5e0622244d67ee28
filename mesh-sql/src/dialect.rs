//! The differences between databases in the SQL of plans and writes.

use mesh_schema::{NativeType, TableName};
use sea_query::{Expr, ExprTrait as _, OnConflict, QueryBuilder, SelectStatement, TableRef};

use super::class::Class;
use super::custom::cast;
use super::operand::Operand;
use super::param::{self, Param};
use super::statement::{Params, ValueOrInput};
use mesh_plan::backend::{JsonPointer, JsonType};
use mesh_plan::plan::{Aggregate, Bucket, ColumnSource, CompareOp, Search};
use mesh_plan::{Mutation, Value};

/// The parameters of a statement under construction in a dialect.
pub(super) type ParamsOf<'p, D> = Params<'p, ParamOf<D>>;

/// A parameter of a statement in a dialect.
pub type ParamOf<D> = Param<<D as Dialect>::Class>;

/// A value of a row in a dialect.
pub(super) type OperandOf<D> = Operand<<D as Dialect>::Class>;

/// A part of an id with which a column is compared.
#[derive(Clone)]
pub enum IdPart<'v> {
    /// A value in the form in which responses show it.
    Value(&'v Value),
    /// A value that the write itself assigns to the column, in any form that the column accepts.
    Assigned(&'v Value),
    /// The part with this index of the id that an earlier step of a write has returned.
    Returned(usize),
    /// A value of the column's type.
    Expr(Expr),
}

/// The values that a condition looks for in a JSON array. There is at least one.
pub struct Elements<'v> {
    /// The location of the array in the document.
    pub(super) at: &'v JsonPointer,
    /// The type of the values.
    pub(super) ty: JsonType,
    pub(super) values: Vec<ValueOrInput<'v>>,
    /// Whether the array must contain all of the values, not any of them.
    pub(super) all: bool,
    /// Whether the condition has to be NULL if there is no array; otherwise it may be false.
    pub(super) needs_unknown: bool,
}

/// The SQL dialect of a database. Back ends give it to the functions of this crate; only the dialects of this crate implement it.
pub trait Dialect: Sized {
    /// The classes of its storage types.
    type Class: Class;

    /// Whether NULL sorts before all values in ascending order by default, rather than after them.
    const NULL_IS_SMALLEST: bool;

    /// The maximum number of parameters of a statement that creates several records.
    const CREATED_PARAMS_MAX: usize = 65_535;

    /// For a database that keeps statements by their texts, the maximum number of records that one statement creates. The number
    /// is then a power of two, so that lists of all lengths need only a few different statements.
    const CREATED_ROWS_MAX: Option<usize> = None;

    /// Whether the database can begin a semi-join at the records of `EXISTS`.
    const REORDERS_EXISTS: bool = true;

    /// Whether other transactions can change records during a write, so that its checks are repeated at the end.
    const RECHECKS: bool = true;

    /// Whether `UPDATE` and `DELETE` return rows. Otherwise only the number of rows that they have found is known, and a select
    /// reads the id of the record.
    const RETURNS_UPDATED: bool = true;

    /// Returns whether the number of rows that an `UPDATE` has changed is known. An update that keeps the id then need not
    /// return it.
    fn counts_updated(&self) -> bool {
        false
    }

    /// Returns the builder that renders the SQL.
    fn builder(&self) -> impl QueryBuilder;

    /// Returns a parameter for the new value of a column of the given storage type.
    fn written(&self, value: &Value, native: Option<&NativeType>) -> Param<Self::Class> {
        Param::Value(Self::Class::of(native).written(value))
    }

    /// Returns a parameter for a part of an id that is compared with a column of the given storage type.
    fn id_part(&self, value: &Value, native: Option<&NativeType>) -> Param<Self::Class> {
        self.written(value, native)
    }

    /// Converts a parameter to the form that can be assigned to a column of the given storage type.
    fn assigned(&self, param: Expr, _native: Option<&NativeType>) -> Expr {
        param
    }

    /// Returns the value to assign to a column of the given storage type, whose current value is `current`.
    fn updated(&self, _current: Expr, new: Expr, _native: Option<&NativeType>) -> Expr {
        new
    }

    /// Returns the clause with which an insertion returns values, if the database has one that the builder does not render.
    fn returning(&self, _values: Vec<Expr>) -> Option<String> {
        None
    }

    /// Completes the text of a statement that writes.
    fn complete_write(&self, _sql: &mut String, _mutation: &Mutation) {}

    /// Returns the clause that ignores an insertion which violates a key. The column is one of those that the insertion sets.
    fn ignore_conflict(&self, _table: &TableName, _column: &str) -> OnConflict {
        OnConflict::new().do_nothing().to_owned()
    }

    /// Returns a column of an id in the form in which reads show it. Writes return ids in this form, and replies are read by
    /// them.
    fn shown_id(&self, column: Expr, _native: Option<&NativeType>) -> Expr {
        column
    }

    /// Compares a column of the given storage type with a part of an id. What a read finds by the id, a write finds too.
    fn compare_id(
        &self,
        params: &mut ParamsOf<'_, Self>,
        column: Expr,
        op: CompareOp,
        part: IdPart<'_>,
        native: Option<&NativeType>,
    ) -> Expr {
        let part = match part {
            IdPart::Value(value) | IdPart::Assigned(value) => params.add(self.id_part(value, native)),
            IdPart::Returned(part) => params.add(Param::WrittenId(part, Self::Class::of(native))),
            IdPart::Expr(expr) => expr,
        };
        self.compare_same_type(column, op, part, native)
    }

    /// Returns a column of a parent in a form that compares like a parameter with the same value. `is_same_type` is whether
    /// the other column has the same type.
    fn parent_key(&self, key: Expr, _is_same_type: bool) -> Expr {
        key
    }

    /// Returns the reference to a table.
    fn table(&self, name: &TableName) -> TableRef {
        match &name.schema {
            Some(schema) => (schema.clone(), name.name.clone()).into(),
            None => name.name.clone().into(),
        }
    }

    /// Compares a value of the given storage type with another value of this type, or with a parameter.
    fn compare_same_type(&self, left: Expr, op: CompareOp, right: Expr, native: Option<&NativeType>) -> Expr {
        Self::Class::of_key(native).compare(left, op, right)
    }

    /// Tests whether a value of the given storage type is in the rows of a subquery.
    fn is_in_subquery(&self, left: Expr, select: SelectStatement, _native: Option<&NativeType>) -> Expr {
        left.in_subquery(select)
    }

    /// Compares two columns for equality.
    fn equal(&self, left: OperandOf<Self>, right: OperandOf<Self>) -> Expr;

    /// Compares with a value of the query, or with an input of which the value is a sample.
    fn compare(
        &self,
        params: &mut ParamsOf<'_, Self>,
        left: &OperandOf<Self>,
        op: CompareOp,
        value: ValueOrInput<'_>,
    ) -> Expr {
        compare(params, left, op, value)
    }

    /// Tests whether a value is in a list of the session.
    fn is_in_session(&self, left: OperandOf<Self>, list: Expr, negated: bool) -> Expr;

    /// Tests whether a value is in a list that is not empty.
    fn is_in(
        &self,
        params: &mut ParamsOf<'_, Self>,
        left: OperandOf<Self>,
        values: &[ValueOrInput<'_>],
        negated: bool,
    ) -> Expr;

    /// Matches text against a [`mesh_plan::backend::Pattern`]. If there is a slot, matches against the input in that slot, and the pattern
    /// is a sample of it.
    fn like(
        &self,
        params: &mut ParamsOf<'_, Self>,
        left: OperandOf<Self>,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr;

    /// Returns the scalar of type `ty` that a pointer finds in a JSON document; NULL if there is none, or if the document is
    /// not JSON.
    fn json(
        &self,
        params: &mut ParamsOf<'_, Self>,
        document: OperandOf<Self>,
        at: &JsonPointer,
        ty: JsonType,
    ) -> OperandOf<Self>;

    /// Tests whether an array in a JSON document contains values.
    fn json_has(
        &self,
        params: &mut ParamsOf<'_, Self>,
        document: OperandOf<Self>,
        elements: &Elements<'_>,
    ) -> Expr;

    /// Returns the first day of the period in which a value falls, or the first instant for periods shorter than a day. It is
    /// text in a binary collation, and contains no parameters, because it occurs in several clauses of a statement.
    fn bucket(&self, value: OperandOf<Self>, bucket: &Bucket) -> OperandOf<Self>;

    /// Returns a condition that holds if the database has a time zone, and makes the statement fail otherwise, even if there are
    /// no rows.
    fn has_zone(&self, zone: &str) -> Expr;

    /// Searches the records whose columns have these operands. An unknown result counts as false.
    fn search(&self, params: &mut ParamsOf<'_, Self>, operands: &Operands<'_, Self>, search: &Search)
    -> Expr;

    /// Returns how well a record matches a search, as a number of the class `Class::of_relevance`. It depends on the record
    /// alone.
    fn relevance(
        &self,
        params: &mut ParamsOf<'_, Self>,
        operands: &Operands<'_, Self>,
        search: &Search,
    ) -> Expr;

    /// Calls an aggregate function over the values of a column, or over rows if there is no column.
    fn aggregate(&self, call: &Aggregate, column: Option<OperandOf<Self>>) -> OperandOf<Self>;
}

/// Compares with a value or an input in the type that the class of the left side has for it, or as text.
pub(super) fn compare<C: Class>(
    params: &mut Params<'_, Param<C>>,
    left: &Operand<C>,
    op: CompareOp,
    right: ValueOrInput<'_>,
) -> Expr {
    match left.class.read(right.0) {
        Some((_, ty)) => {
            let param = param::value_or_input(params, &left.class, Some(ty), right);
            left.class.compare(left.class.in_type(left.expr.clone(), ty), op, param)
        }
        None if *right.0 == Value::Null => C::UNKNOWN.map_or_else(Expr::null, |ty| cast(Expr::null(), ty)),
        None => left.to_text().compare(op, param::value_or_input(params, &left.class, None, right)),
    }
}

/// A function that returns the operand for a value of a row or of a group.
pub(super) type Operands<'a, D> = dyn Fn(&ColumnSource) -> OperandOf<D> + 'a;
