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
//! A relation can be read several times under aliases. Its records can be counted, sorted by, and used in conditions:
//!
//! ```
//! use mesh_ql::build::{asc, count, desc, field, query, related};
//! use mesh_ql::print_json;
//!
//! let discussed = query("post")
//!     .field_as("name", "title")
//!     .relation_as("newest", "comments", |comments| comments.field("text").order_by(desc("id")).first(1))
//!     .relation_as("replies", "comments", |comments| comments.aggregate("n", count()))
//!     .filter(related("comments").every(field("author.name").ne("Spam")) & related("tags").exists())
//!     .order_by(desc(related("comments").aggregate(count())))
//!     .order_by(asc("author.name"))
//!     .last(5)
//!     .total()
//!     .build();
//! let text = print_json(&discussed);
//! assert!(text.contains(r#""replies":{"$relation":"comments","$select":{},"$aggregate":{"n":{"fn":"count"}}}"#), "{text}");
//! assert!(text.contains(r#""$page":{"last":5,"total":true}"#), "{text}");
//! ```
//!
//! The result is a [`Query`] like a parsed one, without locations. The server checks whether its names exist and
//! whether its controls are allowed where they are used.

mod filter;
mod related;

use crate::{
    Aggregate, AggregateFn, Bucket, Direction, Filter, GroupKey, Literal, Name, Nulls, OrParam, OrderBy,
    OrderKey, Page, Query, ReadNode, SearchOrder, Selection, Spanned, Subject, TimeUnit,
};
pub use related::{Related, related};

/// Starts a query of an entity.
pub fn query(entity: impl Into<String>) -> QueryBuilder {
    QueryBuilder { name: name(entity), node: ReadNode::default() }
}

/// A builder for one level of a query: the root, or a related entity inside [`QueryBuilder::relation`].
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct QueryBuilder {
    name: Name,
    node: ReadNode,
}

impl QueryBuilder {
    /// Selects a scalar field.
    pub fn field(self, field: impl Into<String>) -> Self {
        self.select(Selection::Field { name: name(field), alias: None, at: None })
    }

    /// Selects a scalar field under another key.
    pub fn field_as(self, alias: impl Into<String>, field: impl Into<String>) -> Self {
        self.select(Selection::Field { name: name(field), alias: Some(name(alias)), at: None })
    }

    /// Selects the value at a JSON Pointer in a JSON field.
    pub fn part(
        self,
        alias: impl Into<String>,
        field: impl Into<String>,
        pointer: impl Into<String>,
    ) -> Self {
        let (alias, at) = (Some(name(alias)), Some(name(pointer)));
        self.select(Selection::Field { name: name(field), alias, at })
    }

    /// Selects scalar fields.
    pub fn fields(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        names.into_iter().fold(self, Self::field)
    }

    /// Selects a relation. The closure sets the selection and the controls of the related entity.
    pub fn relation(self, name: impl Into<String>, describe: impl FnOnce(Self) -> Self) -> Self {
        let Self { name, node } = describe(query(name));
        self.select(Selection::Relation { name, alias: None, node: node.into() })
    }

    /// Selects a relation under another key, for example to read it twice with different controls.
    pub fn relation_as(
        self,
        alias: impl Into<String>,
        relation: impl Into<String>,
        describe: impl FnOnce(Self) -> Self,
    ) -> Self {
        let Self { name: relation, node } = describe(query(relation));
        self.select(Selection::Relation { name: relation, alias: Some(name(alias)), node: node.into() })
    }

    /// Adds a selection, or replaces the one with the same key, since keys in a response are unique.
    fn select(mut self, selection: Selection) -> Self {
        match self.node.select.iter_mut().find(|other| other.key() == selection.key()) {
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

    /// Adds a sort key, created by [`asc`] or [`desc`]. Earlier keys take precedence.
    pub fn order_by(mut self, key: OrderBy) -> Self {
        self.node.controls.order.push(key);
        self
    }

    /// Sets the maximum number of records.
    pub fn first(mut self, count: impl Into<OrParam<u32>>) -> Self {
        self.page().first = Some(count.into().into());
        self
    }

    /// Starts the page after the record that a cursor refers to.
    pub fn after(mut self, cursor: impl Into<OrParam<String>>) -> Self {
        self.page().after = Some(cursor.into().into());
        self
    }

    /// Reads at most `count` records from the end instead of the start.
    pub fn last(mut self, count: impl Into<OrParam<u32>>) -> Self {
        self.page().last = Some(count.into().into());
        self
    }

    /// Ends the page before the record that a cursor refers to. [`QueryBuilder::last`] sets the number of records.
    pub fn before(mut self, cursor: impl Into<OrParam<String>>) -> Self {
        self.page().before = Some(cursor.into().into());
        self
    }

    /// Leaves out the first `count` records, instead of those up to a cursor.
    pub fn skip(mut self, count: impl Into<OrParam<u32>>) -> Self {
        self.page().skip = Some(count.into().into());
        self
    }

    /// Counts all records that match, not only those on the page.
    pub fn total(mut self) -> Self {
        self.page().total = true;
        self
    }

    fn page(&mut self) -> &mut Page {
        &mut self.node.controls.page.get_or_insert_default().value
    }

    /// Keeps one record for each distinct combination of values in these fields.
    pub fn distinct(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node.controls.distinct = list(fields.into_iter().map(name));
        self
    }

    /// Groups records that have the same values in these fields, or lie in the same [`bucket`]s, into one item.
    pub fn group_by(mut self, keys: impl IntoIterator<Item = impl Into<GroupKey>>) -> Self {
        self.node.controls.group = list(keys);
        self
    }

    /// Adds an aggregate such as [`count`] or [`sum`] over each group, or over all records if there are no groups. The result
    /// has the key `alias`.
    pub fn aggregate(mut self, alias: impl Into<String>, function: Aggregate) -> Self {
        self.node.controls.aggregates.push(Aggregate { alias: name(alias), ..function });
        self
    }

    /// Adds a filter on groups. Groups must match all of these filters.
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

/// Returns a list, or `None` for an empty one, because the formats have no empty lists.
fn list<T>(entries: impl IntoIterator<Item = impl Into<T>>) -> Option<Spanned<Vec<T>>> {
    let list: Vec<T> = entries.into_iter().map(Into::into).collect();
    (!list.is_empty()).then_some(list.into())
}

fn both(filter: Option<Spanned<Filter>>, other: Filter) -> Spanned<Filter> {
    match filter {
        Some(filter) => (filter.value & other).into(),
        None => other.into(),
    }
}

/// Returns a group key that is the period of time in which the value of a field falls. Its name is `alias`.
///
/// ```
/// use mesh_ql::build::{asc, bucket, count, query};
/// use mesh_ql::{GroupKey, TimeUnit};
///
/// let month = bucket("publishedAt", TimeUnit::Month, "month").zone("Europe/Berlin");
/// let posts = query("post")
///     .field("month")
///     .group_by([GroupKey::from(month), "status".into()])
///     .aggregate("posts", count())
///     .order_by(asc("month"));
/// ```
pub fn bucket(field: impl Into<String>, unit: TimeUnit, alias: impl Into<String>) -> Bucket {
    Bucket { field: name(field), unit: unit.into(), alias: name(alias), zone: None }
}

impl Bucket {
    /// Sets the time zone in which periods begin, by its IANA name.
    #[must_use]
    pub fn zone(self, zone: impl Into<String>) -> Self {
        Self { zone: Some(name(zone)), ..self }
    }
}

impl From<Bucket> for GroupKey {
    fn from(bucket: Bucket) -> Self {
        Self::Bucket(bucket)
    }
}

impl From<&str> for GroupKey {
    fn from(field: &str) -> Self {
        Self::Field(name(field))
    }
}

impl From<String> for GroupKey {
    fn from(field: String) -> Self {
        Self::Field(name(field))
    }
}

/// Returns a field to compare or to order by.
pub fn field(field: impl Into<String>) -> Subject {
    Subject::Field(name(field))
}

/// Returns the aggregate that [`QueryBuilder::aggregate`] added under this alias, to compare or to order by.
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

/// Matches records that contain all of the words. `"…"` is a phrase, `word*` a prefix, and `-word` excludes.
///
/// ```
/// use mesh_ql::build::{query, relevance, search};
///
/// let posts = query("post").field("title").filter(search("rust -async")).order_by(relevance());
/// ```
pub fn search(text: impl Into<OrParam<String>>) -> Filter {
    Filter::Search(text.into().into())
}

/// Returns a parameter. The request sends its value along with the query.
pub fn param(param: impl Into<String>) -> Param {
    Param(name(param))
}

/// A parameter that takes the place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param(Name);

impl<T> From<Param> for OrParam<T> {
    fn from(Param(name): Param) -> Self {
        Self::Param { name }
    }
}

impl<T: Into<Subject>> From<T> for OrderKey {
    fn from(subject: T) -> Self {
        Self::Subject(subject.into())
    }
}

/// Sorts in ascending order, with NULL last.
pub fn asc(key: impl Into<OrderKey>) -> OrderBy {
    OrderBy { key: key.into(), direction: Some(Direction::Asc), nulls: Nulls::Last }
}

/// Sorts in descending order, with NULL last.
pub fn desc(key: impl Into<OrderKey>) -> OrderBy {
    OrderBy { direction: Some(Direction::Desc), ..asc(key) }
}

/// Sorts by how well records match the [`search`] of the filter, the best first. It must be the first key.
pub fn relevance() -> OrderBy {
    let key = OrderKey::Search { search: SearchOrder::Relevance.into() };
    OrderBy { key, direction: None, nulls: Nulls::Last }
}

impl OrderBy {
    /// Sorts NULL before other values.
    #[must_use]
    pub fn nulls_first(self) -> Self {
        Self { nulls: Nulls::First, ..self }
    }
}

impl Aggregate {
    fn new(function: AggregateFn, field: Option<Name>) -> Self {
        Self { alias: Name::default(), function, field, distinct: false }
    }

    /// Counts equal values only once.
    #[must_use]
    pub fn distinct(self) -> Self {
        Self { distinct: true, ..self }
    }
}

/// Counts the records. Pass the result of this and the following functions to [`QueryBuilder::aggregate`], which sets the
/// alias.
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

/// Finds the smallest value of a field.
pub fn min(field: impl Into<String>) -> Aggregate {
    Aggregate::new(AggregateFn::Min, Some(name(field)))
}

/// Finds the largest value of a field.
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

impl<T: Into<Literal>> From<T> for OrParam<Literal> {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl From<u32> for OrParam<u32> {
    fn from(count: u32) -> Self {
        Self::Value(count)
    }
}

impl From<&str> for OrParam<String> {
    fn from(cursor: &str) -> Self {
        Self::Value(cursor.to_owned())
    }
}

impl From<String> for OrParam<String> {
    fn from(cursor: String) -> Self {
        Self::Value(cursor)
    }
}

#[cfg(test)]
mod tests;
