//! How is a query written in code? Call by call, with the operators and functions that there are.
//!
//! ```
//! use mesh_ql::build::{aggregate, asc, count, desc, field, query};
//! use mesh_ql::{print_json, print_ql};
//!
//! let newest = query("post")
//!     .fields(["id", "title"])
//!     .relation("author", |author| author.field("name"))
//!     .filter(field("status").eq("published") & field("tag").one_of(["rust", "http"]))
//!     .order_by(desc("createdAt"))
//!     .first(10)
//!     .build();
//! assert!(print_json(&newest).starts_with(r#"{"post":{"$select":{"id":true,"title":true,"author":"#));
//!
//! let busy = query("comment")
//!     .group_by(["postId"])
//!     .aggregate("comments", count())
//!     .having(aggregate("comments").gt(3))
//!     .order_by(desc(aggregate("comments")))
//!     .order_by(asc("postId"));
//! assert_eq!(busy.build().root.controls.order.len(), 2);
//!
//! assert_eq!(print_ql(&query("user").fields(["id", "name"]).build()).unwrap(), "{ user id name }");
//! ```
//!
//! What is built is a [`Query`] like one that was parsed. Whether its names exist, and whether a level may have
//! the controls that it has, is for the server to say.

use std::ops::{BitAnd, BitOr, Not};

use crate::{
    Aggregate, AggregateFn, Condition, Direction, Filter, FilterOp, Literal, Nulls, Operand, OrderBy, Page,
    Query, ReadNode, Selection, Subject,
};

/// Begins a query of an entity.
pub fn query(entity: impl Into<String>) -> QueryBuilder {
    QueryBuilder { name: entity.into(), node: ReadNode::default() }
}

/// One level of a query that is being written: the root, or within [`QueryBuilder::relation`] what is below it.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a builder does nothing until it builds"]
pub struct QueryBuilder {
    name: String,
    node: ReadNode,
}

impl QueryBuilder {
    /// Selects a scalar field.
    pub fn field(self, name: impl Into<String>) -> Self {
        self.select(Selection::Field(name.into()))
    }

    /// Selects scalar fields.
    pub fn fields(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        names.into_iter().fold(self, Self::field)
    }

    /// Selects a relation, and what the closure selects of it.
    pub fn relation(self, name: impl Into<String>, describe: impl FnOnce(Self) -> Self) -> Self {
        let Self { name, node } = describe(query(name));
        self.select(Selection::Relation(name, node))
    }

    /// A response has every name once: of two selections with one name the later one holds.
    fn select(mut self, selection: Selection) -> Self {
        let same = self.node.select.iter_mut().find(|other| other.name() == selection.name());
        match same {
            Some(other) => *other = selection,
            None => self.node.select.push(selection),
        }
        self
    }

    /// Adds a filter; of several all must hold.
    pub fn filter(mut self, filter: Filter) -> Self {
        let controls = &mut self.node.controls;
        controls.filter = Some(both(controls.filter.take(), filter));
        self
    }

    /// Adds a key to the order, below those that are there: [`asc`] or [`desc`].
    pub fn order_by(mut self, key: OrderBy) -> Self {
        self.node.controls.order.push(key);
        self
    }

    /// Sets how many records are wanted at most.
    pub fn first(mut self, count: u32) -> Self {
        self.page().first = Some(count);
        self
    }

    /// Goes on after the record of a cursor.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.page().after = Some(cursor.into());
        self
    }

    fn page(&mut self) -> &mut Page {
        self.node.controls.page.get_or_insert_default()
    }

    /// Takes one record of those that agree in these fields.
    pub fn distinct(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node.controls.distinct = names(fields);
        self
    }

    /// Folds records that agree in these fields into one item.
    pub fn group_by(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node.controls.group = names(fields);
        self
    }

    /// Computes something over each group, or over all records, under that name: [`count`], [`sum`] and so on.
    pub fn aggregate(mut self, alias: impl Into<String>, function: Function) -> Self {
        let Function { function, field, distinct } = function;
        self.node.controls.aggregates.push(Aggregate { alias: alias.into(), function, field, distinct });
        self
    }

    /// Adds a filter of groups; of several all must hold.
    pub fn having(mut self, filter: Filter) -> Self {
        let controls = &mut self.node.controls;
        controls.having = Some(both(controls.having.take(), filter));
        self
    }

    /// The query.
    pub fn build(self) -> Query {
        Query { entity: self.name, root: self.node }
    }
}

/// A list that is there has names in it.
fn names(fields: impl IntoIterator<Item = impl Into<String>>) -> Option<Vec<String>> {
    let names: Vec<String> = fields.into_iter().map(Into::into).collect();
    (!names.is_empty()).then_some(names)
}

fn both(filter: Option<Filter>, other: Filter) -> Filter {
    match filter {
        Some(filter) => filter & other,
        None => other,
    }
}

/// A field to compare, or to order by.
pub fn field(name: impl Into<String>) -> Subject {
    Subject::Field(name.into())
}

/// What [`QueryBuilder::aggregate`] computes under that name, to compare or to order by.
pub fn aggregate(alias: impl Into<String>) -> Subject {
    Subject::Aggregate(alias.into())
}

/// A field of that name.
impl<'n> From<&'n str> for Subject {
    fn from(name: &'n str) -> Self {
        field(name)
    }
}

/// A field of that name.
impl From<String> for Subject {
    fn from(name: String) -> Self {
        Self::Field(name)
    }
}

/// The comparisons of filters. With a NULL none of them holds but those that ask for one.
impl Subject {
    /// It equals the value.
    pub fn eq(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Eq, value)
    }

    /// It differs from the value.
    pub fn ne(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Ne, value)
    }

    /// It is more than the value.
    pub fn gt(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Gt, value)
    }

    /// It is the value or more.
    pub fn gte(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Gte, value)
    }

    /// It is less than the value.
    pub fn lt(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Lt, value)
    }

    /// It is the value or less.
    pub fn lte(self, value: impl Into<Literal>) -> Filter {
        self.with(FilterOp::Lte, value)
    }

    /// It is one of the values.
    pub fn one_of(self, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
        self.among(FilterOp::In, values)
    }

    /// It is none of the values.
    pub fn none_of(self, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
        self.among(FilterOp::Nin, values)
    }

    /// It fits the pattern, in which `%` is any text and `_` any character.
    pub fn like(self, pattern: impl Into<String>) -> Filter {
        self.with(FilterOp::Like, pattern.into())
    }

    /// It fits the pattern in whatever letter case.
    pub fn ilike(self, pattern: impl Into<String>) -> Filter {
        self.with(FilterOp::Ilike, pattern.into())
    }

    /// It is NULL.
    pub fn is_null(self) -> Filter {
        Filter::Condition(Condition { subject: self, op: FilterOp::IsNull, value: Operand::None })
    }

    /// It is not NULL.
    pub fn is_not_null(self) -> Filter {
        Filter::Condition(Condition { subject: self, op: FilterOp::IsNotNull, value: Operand::None })
    }

    fn with(self, op: FilterOp, value: impl Into<Literal>) -> Filter {
        Filter::Condition(Condition { subject: self, op, value: Operand::One(value.into()) })
    }

    fn among(self, op: FilterOp, values: impl IntoIterator<Item = impl Into<Literal>>) -> Filter {
        let value = Operand::Many(values.into_iter().map(Into::into).collect());
        Filter::Condition(Condition { subject: self, op, value })
    }
}

/// Both hold.
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

/// One of them holds.
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

/// It does not hold.
impl Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

/// From the least to the largest, NULL last.
pub fn asc(subject: impl Into<Subject>) -> OrderBy {
    OrderBy { subject: subject.into(), direction: Direction::Asc, nulls: Nulls::Last }
}

/// From the largest to the least, NULL last.
pub fn desc(subject: impl Into<Subject>) -> OrderBy {
    OrderBy { direction: Direction::Desc, ..asc(subject) }
}

impl OrderBy {
    /// The same with NULL first.
    #[must_use]
    pub fn nulls_first(self) -> Self {
        Self { nulls: Nulls::First, ..self }
    }
}

/// What [`QueryBuilder::aggregate`] computes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it only says what is to be computed"]
pub struct Function {
    function: AggregateFn,
    field: Option<String>,
    distinct: bool,
}

impl Function {
    fn of(function: AggregateFn, field: impl Into<String>) -> Self {
        Self { function, field: Some(field.into()), distinct: false }
    }

    /// The same with equal values counting once.
    pub fn distinct(self) -> Self {
        Self { distinct: true, ..self }
    }
}

/// How many records there are.
pub fn count() -> Function {
    Function { function: AggregateFn::Count, field: None, distinct: false }
}

/// How many records have something in that field.
pub fn count_of(field: impl Into<String>) -> Function {
    Function::of(AggregateFn::Count, field)
}

/// The sum of a field.
pub fn sum(field: impl Into<String>) -> Function {
    Function::of(AggregateFn::Sum, field)
}

/// The mean of a field.
pub fn avg(field: impl Into<String>) -> Function {
    Function::of(AggregateFn::Avg, field)
}

/// The least value of a field.
pub fn min(field: impl Into<String>) -> Function {
    Function::of(AggregateFn::Min, field)
}

/// The largest value of a field.
pub fn max(field: impl Into<String>) -> Function {
    Function::of(AggregateFn::Max, field)
}

/// A value of a filter as a literal of the query.
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
