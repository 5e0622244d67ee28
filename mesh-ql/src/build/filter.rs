//! Comparisons that create filters, and operators that combine filters.

use std::ops::{BitAnd, BitOr, Not};

use super::{Param, name};
use crate::{Condition, Filter, FilterOp, Literal, Operand, OrParam, Spanned, Subject};

/// Comparisons, which create filters. NULL matches none of them except [`Subject::is_null`].
impl Subject {
    /// Returns the scalar or the array at a JSON Pointer in this field.
    #[must_use]
    pub fn at(self, pointer: impl Into<String>) -> Self {
        let (Self::Field(field) | Self::Aggregate(field) | Self::Json { field, .. }) = self;
        Self::Json { field, at: name(pointer) }
    }

    /// Equals the value.
    pub fn eq(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Eq, value)
    }

    /// Differs from the value.
    pub fn ne(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Ne, value)
    }

    /// Is greater than the value.
    pub fn gt(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Gt, value)
    }

    /// Is greater than or equal to the value.
    pub fn gte(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Gte, value)
    }

    /// Is less than the value.
    pub fn lt(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Lt, value)
    }

    /// Is less than or equal to the value.
    pub fn lte(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Lte, value)
    }

    /// Is one of the values.
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<OrParam<Literal>>>) -> Filter {
        self.among(FilterOp::In, values)
    }

    /// Is none of the values.
    pub fn none_of(self, values: impl IntoIterator<Item = impl Into<OrParam<Literal>>>) -> Filter {
        self.among(FilterOp::Nin, values)
    }

    /// Is one of the values of a list parameter.
    pub fn one_of_param(self, list: Param) -> Filter {
        self.with(FilterOp::In, list)
    }

    /// Is none of the values of a list parameter.
    pub fn none_of_param(self, list: Param) -> Filter {
        self.with(FilterOp::Nin, list)
    }

    /// Matches the pattern, in which `%` stands for any text and `_` for any character.
    pub fn like(self, pattern: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Like, pattern)
    }

    /// Matches the pattern regardless of letter case.
    pub fn ilike(self, pattern: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Ilike, pattern)
    }

    /// Is a JSON array that contains the value.
    pub fn has(self, value: impl Into<OrParam<Literal>>) -> Filter {
        self.with(FilterOp::Has, value)
    }

    /// Is a JSON array that contains at least one of the values, of which there must be one.
    pub fn has_any(self, values: impl IntoIterator<Item = impl Into<OrParam<Literal>>>) -> Filter {
        self.among(FilterOp::HasAny, values)
    }

    /// Is a JSON array that contains all of the values, of which there must be one.
    pub fn has_all(self, values: impl IntoIterator<Item = impl Into<OrParam<Literal>>>) -> Filter {
        self.among(FilterOp::HasAll, values)
    }

    /// Is a JSON array that contains at least one value of a list parameter.
    pub fn has_any_param(self, list: Param) -> Filter {
        self.with(FilterOp::HasAny, list)
    }

    /// Is a JSON array that contains all values of a list parameter.
    pub fn has_all_param(self, list: Param) -> Filter {
        self.with(FilterOp::HasAll, list)
    }

    /// Is NULL.
    pub fn is_null(self) -> Filter {
        self.condition(FilterOp::IsNull, Operand::None)
    }

    /// Is not NULL.
    pub fn is_not_null(self) -> Filter {
        self.condition(FilterOp::IsNotNull, Operand::None)
    }

    fn with(self, op: FilterOp, value: impl Into<OrParam<Literal>>) -> Filter {
        self.condition(op, Operand::One(value.into().into()))
    }

    fn among(self, op: FilterOp, values: impl IntoIterator<Item = impl Into<OrParam<Literal>>>) -> Filter {
        let values = values.into_iter().map(Into::into).map(Spanned::from);
        self.condition(op, Operand::Many(values.collect()))
    }

    fn condition(self, op: FilterOp, value: Operand) -> Filter {
        Filter::Condition(Condition { subject: self, op: op.into(), value })
    }
}

/// Matches if both filters match.
impl BitAnd for Filter {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        match self {
            Self::And(mut parts) => {
                parts.push(other);
                Self::And(parts)
            }
            first => Self::And(vec![first, other]),
        }
    }
}

/// Matches if at least one of the filters matches.
impl BitOr for Filter {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        match self {
            Self::Or(mut parts) => {
                parts.push(other);
                Self::Or(parts)
            }
            first => Self::Or(vec![first, other]),
        }
    }
}

/// Matches if the filter does not.
impl Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}
