//! The differences between databases in the SQL of plans and writes.

use mesh_schema::{NativeType, TableName};
use sea_query::{Expr, ExprTrait as _, OnConflict, QueryBuilder, SelectStatement, TableRef};

use super::statement::Params;
use mesh_plan::{Aggregate, ColumnSource, Comparand, CompareOp};
use mesh_plan::{JsonPointer, JsonType, Value};

/// A value. If there is a slot, it is the value of the input in that slot.
pub(super) type ValueOrInput<'v> = (&'v Value, Option<usize>);

/// A part of an id with which a column is compared.
#[derive(Clone)]
pub(super) enum IdPart<'v> {
    /// A value in the form in which responses show it.
    Value(&'v Value),
    /// A value that the write itself assigns to the column, in any form that the column accepts.
    Assigned(&'v Value),
    /// The part with this index of the id that an earlier step of a write has returned.
    Returned(usize),
    /// A value of the column's type.
    Expr(Expr),
}

/// The SQL dialect of a database.
pub(super) trait Dialect {
    /// A parameter that is bound to a statement.
    type Param: Clone;

    /// A value of a row: its expression, with the type information that the dialect needs.
    type Operand: Into<Expr> + Clone;

    /// Whether NULL sorts before all values in ascending order by default, rather than after them.
    const NULL_IS_SMALLEST: bool;

    /// Whether the database can begin a semi-join at the records of `EXISTS`.
    const REORDERS_EXISTS: bool;

    /// Whether other transactions can change records during a write, so that its checks are repeated at the end.
    const RECHECKS: bool;

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
    fn written(&self, value: &Value, native: Option<&NativeType>) -> Self::Param;

    /// Returns a parameter for a part of an id that is compared with a column of the given storage type.
    fn id_part(&self, value: &Value, native: Option<&NativeType>) -> Self::Param {
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

    /// Returns the clause that ignores an insertion which violates a key. The column is one of those that the insertion sets.
    fn ignore_conflict(&self, _table: &TableName, _column: &str) -> OnConflict {
        OnConflict::new().do_nothing().to_owned()
    }

    /// Returns a column of an id in the form in which reads show it. Writes return ids in this form, and replies are read by
    /// them.
    fn shown_id(&self, column: Expr, _native: Option<&NativeType>) -> Expr {
        column
    }

    /// Returns the parameter for a part of the id that an earlier step of a write has returned, and which is compared with a
    /// column of the given storage type.
    fn written_id(&self, part: usize, native: Option<&NativeType>) -> Self::Param;

    /// Compares a column of the given storage type with a part of an id. What a read finds by the id, a write finds too.
    fn compare_id(
        &self,
        params: &mut Params<Self::Param>,
        column: Expr,
        op: CompareOp,
        part: IdPart<'_>,
        native: Option<&NativeType>,
    ) -> Expr {
        let part = match part {
            IdPart::Value(value) | IdPart::Assigned(value) => params.add(self.id_part(value, native)),
            IdPart::Returned(part) => params.add(self.written_id(part, native)),
            IdPart::Expr(expr) => expr,
        };
        self.compare_same_type(column, op, part, native)
    }

    /// Returns the operand for an expression with the type of a column.
    fn operand(&self, expr: Expr, native: Option<&NativeType>) -> Self::Operand;

    /// Returns an operand of the same type with another expression.
    fn with_expr(&self, operand: Self::Operand, expr: Expr) -> Self::Operand;

    /// Returns an operand in a form that can be compared and ordered.
    fn comparable(&self, operand: Self::Operand) -> Self::Operand {
        operand
    }

    /// Returns an operand in a form by which rows can be grouped. Values that responses show alike are in one group.
    fn group_key(&self, operand: Self::Operand) -> Self::Operand {
        self.comparable(operand)
    }

    /// Tests whether responses show a value as `null`.
    fn is_null(&self, operand: Self::Operand, negated: bool) -> Expr {
        let value: Expr = operand.into();
        if negated { value.is_not_null() } else { value.is_null() }
    }

    /// Returns a column of a parent in a form that compares like a parameter with the same value. `is_same_type` is whether
    /// the other column has the same type.
    fn parent_key(&self, operand: Self::Operand, _is_same_type: bool) -> Expr {
        operand.into()
    }

    /// Returns whether a subquery has few rows, so that it is better read first. Only needed for databases that do not begin a
    /// semi-join at the subquery.
    fn has_few_rows(&self, _params: &Params<Self::Param>, _rows: &SelectStatement) -> bool {
        false
    }

    /// Returns the reference to a table.
    fn table(&self, name: &TableName) -> TableRef;

    /// Compares a value of the given storage type with another value of this type, or with a parameter.
    fn compare_same_type(&self, left: Expr, op: CompareOp, right: Expr, native: Option<&NativeType>) -> Expr;

    /// Tests whether a value of the given storage type is in the rows of a subquery.
    fn is_in_subquery(&self, left: Expr, select: SelectStatement, native: Option<&NativeType>) -> Expr;

    /// Compares two columns for equality.
    fn equal(&self, left: Self::Operand, right: Self::Operand) -> Expr;

    /// Compares with a value of the query. If there is a slot, compares with the input in that slot, and the value is a sample
    /// of it.
    fn compare(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        op: CompareOp,
        value: ValueOrInput<'_>,
    ) -> Expr;

    /// Compares with the session's value in a slot.
    fn compare_session(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        op: CompareOp,
        slot: usize,
    ) -> Expr;

    /// Tests whether a value is in the session's list in a slot.
    fn is_in_session(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        slot: usize,
        negated: bool,
    ) -> Expr;

    /// Tests whether a value is in a list that is not empty.
    fn is_in(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        values: &[Comparand<Value>],
        negated: bool,
    ) -> Expr;

    /// Matches text against a [`mesh_plan::Pattern`]. If there is a slot, matches against the input in that slot, and the pattern
    /// is a sample of it.
    fn like(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr;

    /// Returns the scalar of type `ty` that a pointer finds in a JSON document; NULL if there is none, or if the document is
    /// not JSON.
    fn json(
        &self,
        params: &mut Params<Self::Param>,
        document: Self::Operand,
        at: &JsonPointer,
        ty: JsonType,
    ) -> Self::Operand;

    /// Calls an aggregate function over the values of a column, or over rows if there is no column.
    fn aggregate(&self, call: &Aggregate, column: Option<Self::Operand>) -> Self::Operand;
}

/// A function that returns the operand for a value of a row or of a group.
pub(super) type Operands<'a, D> = dyn Fn(&ColumnSource) -> <D as Dialect>::Operand + 'a;
