//! Classes of storage types: how the values of a column are bound and compared in the databases that answer a plan with one
//! statement.

use std::fmt;

use mesh_plan::{CompareOp, Value};
use sea_query::Expr;

/// The form in which a parameter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In the type that the database infers.
    Bound,
    /// In the type with this name, to which the value is cast.
    Cast(&'static str),
    /// In the type of the column, to which the value is cast by its name.
    Own,
}

/// A class of storage types that can be compared with the same values.
pub trait Class: Clone + fmt::Debug + PartialEq {
    /// A value as it is bound to a statement. The default is NULL.
    type Bound: Clone + fmt::Debug + PartialEq + Default;

    /// Binds a text.
    fn bind_text(text: String) -> Self::Bound;

    /// Binds an integer.
    fn bind_integer(number: i64) -> Self::Bound;

    /// Binds the text of a value.
    fn bind_as_text(value: &Value) -> Self::Bound;

    /// Returns the value to bind for a comparison with a column of this class, and the form of the comparison. `None` if a
    /// column cannot contain such a value, so that only the texts can be compared.
    fn read(&self, value: &Value) -> Option<(Self::Bound, Form)>;

    /// Returns the form in which a value known only at run time is compared.
    fn bind_form(&self) -> Form;

    /// Returns the value to bind for a comparison in [`Self::bind_form`]; NULL if no record can have the value.
    fn bind(&self, value: &Value) -> Self::Bound;

    /// Returns the value to bind for a part of an id that an earlier step of a write has returned.
    fn bind_returned(&self, value: &Value) -> Self::Bound;

    /// Binds a list.
    fn bind_list(values: impl Iterator<Item = Self::Bound>) -> Self::Bound;

    /// Returns whether the database can store a value. If it cannot, no parameter has the value.
    fn is_storable(_value: &Value) -> bool {
        true
    }

    /// Names the type of a text parameter.
    fn typed_text(param: Expr) -> Expr;

    /// Names the type of an integer parameter.
    fn typed_integer(param: Expr) -> Expr;

    /// Names the type in which a parameter is compared in a form; without a form, that of texts.
    fn typed(&self, param: Expr, form: Option<Form>) -> Expr;

    /// Names the type of a list whose elements are compared in a form; without a form, as texts.
    fn typed_list(&self, param: Expr, form: Option<Form>) -> Expr;

    /// Writes a bound value for people.
    fn show(bound: &Self::Bound, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Returns whether values can be compared with one another, in an order that a cursor can express.
    fn has_order(&self) -> bool;

    /// Returns whether a value known only at run time is compared with the column itself, not with its text.
    fn is_bindable(&self) -> bool;

    /// Returns whether equal values are also the same in all other comparisons.
    fn is_identity(&self) -> bool;

    /// Returns whether values are times in UTC, of a type with a zone that results do not show.
    fn is_utc(&self) -> bool {
        false
    }

    /// Returns the expression for a value of this class in a row of the result, and the type of the result's column.
    fn shown(&self, expr: Expr) -> (Expr, &'static str);

    /// Returns a value of this class as text, with the class of texts.
    fn to_text(&self, expr: Expr) -> (Expr, Self);

    /// Compares two values of this class.
    fn compare(&self, left: Expr, op: CompareOp, right: Expr) -> Expr;

    /// Returns whether an index can be searched by comparing a row that contains a column of this class.
    fn compares_in_rows(&self) -> bool {
        false
    }

    /// Returns a value of this class in a form that is NULL only if the stored value is.
    fn or_null(&self, expr: Expr) -> Expr {
        expr
    }
}
