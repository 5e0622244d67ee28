//! Builders for queries in code.
//!
//! ```
//! use mesh_ql::build::{aggregate, asc, count, desc, query};
//!
//! let busy = query("comment")
//!     .group_by(["postId"])
//!     .aggregate("comments", count())
//!     .having(aggregate("comments").gt(3))
//!     .order_by(desc(aggregate("comments")))
//!     .order_by(asc("postId"));
//! assert_eq!(busy.build().root.controls.order.len(), 2);
//! ```
//!
//! The result is a [`Query`] like a parsed one, without locations. The server checks whether its names exist and
//! whether its controls are allowed where they are used.

use std::ops::{BitAnd, BitOr, Not};

use crate::{
    Aggregate, AggregateFn, Condition, Direction, Filter, FilterOp, Literal, Name, Nulls, Operand, OrderBy,
    Page, Query, ReadNode, Selection, Spanned, Subject,
};

/// Starts a query of an entity.
pub fn query(entity: impl Into<String>) -> QueryBuilder {
    QueryBuilder { name: name(entity), node: ReadNode::default() }
}

/// Builds one level of a query: the root, or within [`QueryBuilder::relation`] a related entity.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct QueryBuilder {
    name: Name,
    node: ReadNode,
}

impl QueryBuilder {
    /// Selects a scalar field.
    pub fn field(self, field: impl Into<String>) -> Self {
        self.select(Selection::Field(name(field)))
    }

    /// Selects scalar fields.
    pub fn fields(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        names.into_iter().fold(self, Self::field)
    }

    /// Selects a relation and what the closure selects of the related entity.
    pub fn relation(self, name: impl Into<String>, describe: impl FnOnce(Self) -> Self) -> Self {
        let Self { name, node } = describe(query(name));
        self.select(Selection::Relation(name, node))
    }

    /// Adds a selection, or replaces the one with the same name, since names in a response are unique.
    fn select(mut self, selection: Selection) -> Self {
        match self.node.select.iter_mut().find(|other| other.name() == selection.name()) {
            Some(other) => *other = selection,
            None => self.node.select.push(selection),
        }
        self
    }

    /// Adds a filter. Records must match all filters.
    pub fn filter(mut self, filter: Filter) -> Self {
        let controls = &mut self.node.controls;
        controls.filter = Some(both(controls.filter.take(), filter));
        self
    }

    /// Adds a key to the order, less significant than the earlier ones: [`asc`] or [`desc`].
    pub fn order_by(mut self, key: OrderBy) -> Self {
        self.node.controls.order.push(key);
        self
    }

    /// Sets the maximum number of records.
    pub fn first(mut self, count: u32) -> Self {
        self.page().first = Some(count);
        self
    }

    /// Starts after the record of a cursor.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.page().after = Some(name(cursor));
        self
    }

    fn page(&mut self) -> &mut Page {
        &mut self.node.controls.page.get_or_insert_default().value
    }

    /// Keeps one record of those that have the same values in these fields.
    pub fn distinct(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node.controls.distinct = names(fields);
        self
    }

    /// Groups records that have the same values in these fields into one item.
    pub fn group_by(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node.controls.group = names(fields);
        self
    }

    /// Adds a function of each group, or of all records: [`count`], [`sum`] and so on. Its result has the key `alias`.
    pub fn aggregate(mut self, alias: impl Into<String>, function: Aggregate) -> Self {
        self.node.controls.aggregates.push(Aggregate { alias: name(alias), ..function });
        self
    }

    /// Adds a filter of groups. Groups must match all of them.
    pub fn having(mut self, filter: Filter) -> Self {
        let controls = &mut self.node.controls;
        controls.having = Some(both(controls.having.take(), filter));
        self
    }

    /// Returns the query.
    pub fn build(self) -> Query {
        Query { entity: self.name, root: self.node }
    }
}

fn name(name: impl Into<String>) -> Name {
    Name::from(name.into())
}

/// Returns a list of names, or `None` for an empty one, because the formats have no empty lists.
fn names(fields: impl IntoIterator<Item = impl Into<String>>) -> Option<Spanned<Vec<Name>>> {
    let names: Vec<Name> = fields.into_iter().map(name).collect();
    (!names.is_empty()).then_some(names.into())
}

fn both(filter: Option<Spanned<Filter>>, other: Filter) -> Spanned<Filter> {
    match filter {
        Some(filter) => (filter.value & other).into(),
        None => other.into(),
    }
}

/// Returns a field to compare or to order by.
pub fn field(field: impl Into<String>) -> Subject {
    Subject::Field(name(field))
}

/// Returns the result of [`QueryBuilder::aggregate`] with that alias, to compare or to order by.
pub fn aggregate(alias: impl Into<String>) -> Subject {
    Subject::Aggregate(name(alias))
}

impl<'n> From<&'n str> for Subject {
    fn from(name: &'n str) -> Self {
        field(name)
    }
}

impl From<String> for Subject {
    fn from(name: String) -> Self {
        field(name)
    }
}

/// The comparisons of filters. NULL matches none of them except [`Subject::is_null`].
impl Subject {
    /// Equals the value.
    pub fn eq(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Eq, value)
    }

    /// Differs from the value.
    pub fn ne(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Ne, value)
    }

    /// Is greater than the value.
    pub fn gt(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Gt, value)
    }

    /// Is greater than or equal to the value.
    pub fn gte(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Gte, value)
    }

    /// Is less than the value.
    pub fn lt(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Lt, value)
    }

    /// Is less than or equal to the value.
    pub fn lte(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Lte, value)
    }

    /// Is one of the values.
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
        self.among(FilterOp::In, values)
    }

    /// Is none of the values.
    pub fn none_of(self, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
        self.among(FilterOp::Nin, values)
    }

    /// Matches the pattern, in which `%` stands for any text and `_` for any character.
    pub fn like(self, pattern: impl Into<String>) -> Filter {
        self.with(FilterOp::Like, pattern.into())
    }

    /// Matches the pattern regardless of letter case.
    pub fn ilike(self, pattern: impl Into<String>) -> Filter {
        self.with(FilterOp::Ilike, pattern.into())
    }

    /// Is NULL.
    pub fn is_null(self) -> Filter {
        self.condition(FilterOp::IsNull, Operand::None)
    }

    /// Is not NULL.
    pub fn is_not_null(self) -> Filter {
        self.condition(FilterOp::IsNotNull, Operand::None)
    }

    fn with(self, op: FilterOp, value: impl Into<Literal>) -> Filter {
        self.condition(op, Operand::One(value.into().into()))
    }

    fn among(self, op: FilterOp, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
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

/// Matches if one of the filters matches.
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

/// Orders from the least to the greatest, NULL last.
pub fn asc(subject: impl Into<Subject>) -> OrderBy {
    OrderBy { subject: subject.into(), direction: Direction::Asc, nulls: Nulls::Last }
}

/// Orders from the greatest to the least, NULL last.
pub fn desc(subject: impl Into<Subject>) -> OrderBy {
    OrderBy { direction: Direction::Desc, ..asc(subject) }
}

impl OrderBy {
    /// Orders NULL before other values.
    #[must_use]
    pub fn nulls_first(self) -> Self {
        Self { nulls: Nulls::First, ..self }
    }
}

impl Aggregate {
    fn new(function: AggregateFn, field: Option<Name>) -> Self {
        Self { alias: Name::default(), function, field, distinct: false }
    }

    /// Counts equal values once.
    #[must_use]
    pub fn distinct(self) -> Self {
        Self { distinct: true, ..self }
    }
}

/// Counts the records. This function and those below are for [`QueryBuilder::aggregate`], which sets the alias.
pub fn count() -> Aggregate {
    Aggregate::new(AggregateFn::Count, None)
}

/// Counts the records that have a value in the field.
pub fn count_of(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Count, Some(name(field)))
}

/// Sums a field.
pub fn sum(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Sum, Some(name(field)))
}

/// Computes the mean of a field.
pub fn avg(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Avg, Some(name(field)))
}

/// Finds the least value of a field.
pub fn min(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Min, Some(name(field)))
}

/// Finds the greatest value of a field.
pub fn max(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Max, Some(name(field)))
}

/// Implements conversions of Rust values to literals.
macro_rules! literal {
    ($($variant:ident from $type:ty),+ $(,)?) => {
        $(impl From<$type> for Literal {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })+
    };
}

literal!(
    Boolean from bool, Integer from i64, Integer from i32, Integer from u32, Integer from u16, Number from f64,
    Text from &str, Text from String,
);

#[cfg(test)]
mod tests;
