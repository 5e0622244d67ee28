//! The differences between databases in the SQL of plans and writes.

use mesh_schema::{NativeType, TableName};
use sea_query::{Expr, OnConflict, QueryBuilder, SelectStatement, TableRef};

use super::statement::Params;
use crate::plan::{Aggregate, ColumnSource, Comparand, CompareOp};
use crate::{JsonPointer, JsonType, Value};

/// A database's SQL.
pub(super) trait Dialect {
    /// What is bound to its statements.
    type Param: Clone;

    /// A value of a row: its expression, with what the database has to know of its type.
    type Operand: Into<Expr> + Clone;

    /// Whether NULL comes before all values in ascending order by default, and not after them.
    const NULL_IS_SMALLEST: bool;

    /// Whether it may begin a semi-join at the records of `EXISTS`.
    const REORDERS_EXISTS: bool;

    /// Whether other transactions may change records during a write, so that what was checked at first is checked again
    /// at the end.
    const RECHECKS: bool;

    /// Whether `UPDATE` and `DELETE` return rows. Otherwise only the number of rows that they have found is known, and the id of
    /// the record is read by a select.
    const RETURNS_UPDATED: bool = true;

    /// Whether the number of rows that an `UPDATE` has changed is known, so that it need not return a record whose id stays the
    /// same.
    fn counts_updated(&self) -> bool {
        false
    }

    /// Returns the printer of its SQL.
    fn builder(&self) -> impl QueryBuilder;

    /// Returns a parameter for a value that is written.
    fn value(&self, value: &Value) -> Self::Param;

    /// Returns a parameter for a value that a column of that storage type is set to.
    fn written(&self, value: &Value, _native: Option<&NativeType>) -> Self::Param {
        self.value(value)
    }

    /// Returns a parameter in the form in which a column of that storage type can be set to it.
    fn assigned(&self, param: Expr, _native: Option<&NativeType>) -> Expr {
        param
    }

    /// Returns the clause by which an insertion returns columns, if the printer of the database's SQL has none for it.
    fn returning(&self, _columns: &[&str]) -> Option<String> {
        None
    }

    /// Returns what an insertion does that a key prevents: nothing. The column is one of those that are set.
    fn kept(&self, _table: &TableName, _column: &str) -> OnConflict {
        OnConflict::new().do_nothing().to_owned()
    }

    /// Returns the parameter for a part of the id that an earlier step of a write has returned.
    fn written_id(&self, part: usize) -> Self::Param;

    /// Returns the operand for an expression with the type of a column.
    fn operand(&self, expr: Expr, native: Option<&NativeType>) -> Self::Operand;

    /// Returns an operand of the same type with another expression.
    fn with_expr(&self, operand: Self::Operand, expr: Expr) -> Self::Operand;

    /// Returns an operand in a form that can be compared and ordered.
    fn comparable(&self, operand: Self::Operand) -> Self::Operand {
        operand
    }

    /// Returns a column of a parent in a form in which it is compared like a parameter with that value. `is_alike` is whether
    /// the other column has the same type.
    fn parent_key(&self, operand: Self::Operand, _is_alike: bool) -> Expr {
        operand.into()
    }

    /// Returns whether a subquery has few rows. It is asked for databases that do not begin a semi-join at the subquery, and is
    /// then better read first.
    fn are_few(&self, _params: &Params<Self::Param>, _rows: &SelectStatement) -> bool {
        false
    }

    /// Returns the reference to a table.
    fn table(&self, name: &TableName) -> TableRef;

    /// Compares a value of that storage type with another one of it, or with a parameter.
    fn compare_alike(&self, left: Expr, op: CompareOp, right: Expr, native: Option<&NativeType>) -> Expr;

    /// Looks for a value of that storage type in the rows of a subquery.
    fn is_in_subquery(&self, left: Expr, select: SelectStatement, native: Option<&NativeType>) -> Expr;

    /// Compares two columns for equality.
    fn equal(&self, left: Self::Operand, right: Self::Operand) -> Expr;

    /// Compares with a value of the query, or with the input of that slot, of which the value is a sample.
    fn compare(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        op: CompareOp,
        value: (&Value, Option<usize>),
    ) -> Expr;

    /// Compares with the session's value of that slot.
    fn compare_session(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        op: CompareOp,
        slot: usize,
    ) -> Expr;

    /// Looks for a value in the session's list of that slot.
    fn is_in_session(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        slot: usize,
        negated: bool,
    ) -> Expr;

    /// Looks for a value in a list that is not empty.
    fn is_in(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        values: &[Comparand<Value>],
        negated: bool,
    ) -> Expr;

    /// Matches text against a [`crate::Pattern`], or the input of that slot, of which the pattern is a sample.
    fn like(
        &self,
        params: &mut Params<Self::Param>,
        left: Self::Operand,
        pattern: (&str, Option<usize>),
        ignore_case: bool,
    ) -> Expr;

    /// Returns the scalar of that type at a place in a JSON document; NULL if there is none, or if it is not JSON.
    fn json(
        &self,
        params: &mut Params<Self::Param>,
        document: Self::Operand,
        at: &JsonPointer,
        ty: JsonType,
    ) -> Self::Operand;

    /// Calls an aggregate function over the values of a column, or over rows.
    fn aggregate(&self, call: &Aggregate, column: Option<Self::Operand>) -> Self::Operand;
}

/// Returns the operand for a value of a row or of a group.
pub(super) type Operands<'a, D> = dyn Fn(&ColumnSource) -> <D as Dialect>::Operand + 'a;
