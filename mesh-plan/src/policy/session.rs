//! Values of a session in the runs of a plan.

use mesh_ql::Literal;
use mesh_schema::policy::SessionValue;
use mesh_schema::{FieldType, TimeForm};

use super::ClaimValue;
use crate::planner::literal;
use crate::{Principal, Value};

/// A session value in a plan, with the type of the field that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionBinding {
    pub(crate) value: SessionValue,
    pub(crate) ty: Option<FieldType>,
    pub(crate) time_form: Option<TimeForm>,
    /// The largest number of values, for a list.
    pub(crate) list: Option<usize>,
}

/// A session value in a run of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionInput {
    /// The value. It is NULL if the session lacks it or the field cannot hold it; no comparison with NULL holds.
    One(Value),
    /// The values of a list, for [`crate::plan::Predicate::SessionIn`]. NULL replaces values that the field cannot hold, and is the
    /// only value if the session lacks the list.
    Many(Vec<Value>),
}

impl SessionBinding {
    /// Returns the session value of a principal for a run.
    pub(crate) fn bind(&self, principal: Option<&Principal>) -> SessionInput {
        let principal_value = principal.and_then(|principal| principal.value(&self.value));
        match (self.list, principal_value.as_deref()) {
            (None, Some(ClaimValue::One(literal))) => SessionInput::One(self.literal(literal)),
            (None, Some(ClaimValue::Many(_)) | None) => SessionInput::One(Value::Null),
            (Some(max), Some(claim)) if claim.as_list().len() <= max => {
                SessionInput::Many(claim.as_list().iter().map(|literal| self.literal(literal)).collect())
            }
            (Some(_), _) => SessionInput::Many(vec![Value::Null]),
        }
    }

    /// Converts a literal; text in the form of ids in paths. Text with the character NUL counts as missing, because not all
    /// databases store it.
    fn literal(&self, literal: &Literal) -> Value {
        let value = match literal {
            Literal::Text(text) if text.contains('\0') => None,
            Literal::Text(text) => literal::id(self.ty, self.time_form, text),
            literal => literal::value(self.ty, self.time_form, literal).ok(),
        };
        value.unwrap_or_default()
    }
}

impl SessionInput {
    /// Returns the value, which is NULL for a list.
    pub(crate) fn one(&self) -> &Value {
        match self {
            Self::One(value) => value,
            Self::Many(_) => &Value::Null,
        }
    }

    /// Returns the values of a list.
    pub(crate) fn many(&self) -> &[Value] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}
