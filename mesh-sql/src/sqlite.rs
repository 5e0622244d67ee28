//! Lowering to SQLite: one statement for each node of a plan.
//!
//! The statement of a nested node takes the key of its parent as a parameter and runs once per parent. Its limit therefore
//! applies per parent, and joins do not multiply rows. In SQLite a prepared statement costs about a microsecond and no round
//! trip.

mod class;
mod dialect;
mod list;
mod search;
mod statements;
#[cfg(test)]
mod tests;

pub use dialect::Sqlite;
pub use list::{element, elements};
use mesh_plan::Value;
use mesh_schema::TimeForm;
pub use statements::{NodeRows, Statements};

/// A parameter that is bound to a placeholder.
pub type Param = crate::param::Param<class::Mixed>;

impl Param {
    /// Returns the value to bind in a write whose earlier steps have returned this id; `None` if there is none.
    pub fn for_write<'p>(&'p self, id: &'p [Value]) -> Option<&'p Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Id(part, _) | Self::WrittenId(part, _) => id.get(*part),
            _ => None,
        }
    }
}

/// Returns the name of a form of stored numbers that are times; empty for other forms.
pub fn time_form_name(form: Option<TimeForm>) -> &'static str {
    match form {
        Some(TimeForm::UnixSeconds) => "seconds",
        Some(TimeForm::UnixMillis) => "milliseconds",
        _ => "",
    }
}

type Operand = crate::operand::Operand<class::Mixed>;

/// Names of the functions that a back end must register. The names have a prefix, so that the views of a database keep using
/// the built-in functions.
pub mod functions {
    /// `(text, pattern)`: whether the text matches a [`mesh_plan::backend::Pattern`], case-sensitively.
    pub const LIKE: &str = "mesh_like";
    /// `(text, pattern)`: whether the text matches a [`mesh_plan::backend::Pattern`], ignoring letter case.
    pub const ILIKE: &str = "mesh_ilike";
    /// `(document, pointer, type)`: the scalar that [`mesh_plan::backend::JsonPointer::find`] finds.
    pub const JSON: &str = "mesh_json";
    /// `(document, pointer, type, list, all)`: the result of [`mesh_plan::backend::JsonPointer::has`] for the values of a list
    /// ([`super::elements`]).
    pub const JSON_HAS: &str = "mesh_json_has";
    /// `(value, type)`: the form of a value that is the same for all values with the same meaning ([`mesh_plan::backend::canonical`]). The
    /// type is the name of a field type.
    pub const VALUE: &str = "mesh_value";
    /// `(value, unit, form, zone)`: the period of time in which the value falls ([`mesh_plan::backend::Periods`]). The form is
    /// that of [`super::time_form_name`], and the zone is NULL for UTC. An unknown zone is an error.
    pub const PERIOD: &str = "mesh_period";
    /// `(text, column…)`: whether the columns match a [`mesh_plan::backend::SearchText`].
    pub const SEARCH: &str = "mesh_search";
    /// `(text, column…)`: how often the words of a [`mesh_plan::backend::SearchText`] occur in the columns.
    pub const RELEVANCE: &str = "mesh_relevance";
    /// `(element)`: the value of an element in a list ([`super::element`]).
    pub const ELEMENT: &str = "mesh_element";
    /// Aggregate `(value)`: the sum, which overflows only if the total does.
    pub const SUM: &str = "mesh_sum";
}
