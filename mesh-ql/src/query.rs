//! The syntax tree of queries, for both formats.
//!
//! It is independent of schemas: names are text, values are literals. The order of `$select` is kept, since it is
//! the order of the response. Every part that errors can refer to has its location in the text ([`Spanned`]). The
//! tree serializes as a query in the JSON format.

mod choices;
mod group_key;

use serde::{Serialize, Serializer};

use crate::span::{Name, Span, Spanned};
pub use choices::{AggregateFn, Direction, FilterOp, Nulls, Quantifier, SearchOrder};
pub use group_key::{Bucket, GroupKey, TimeUnit};

/// A whole query: one entity and the read node at its root. `SPEC §3.1`
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The entity key at the root.
    pub entity: Name,
    /// The selection and the controls of the entity.
    pub root: ReadNode,
}

impl Serialize for Query {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(&self.entity, &self.root)])
    }
}

/// One level of a query: a selection and its controls. `SPEC §3.2`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadNode {
    /// The entries of `$select`, in order, each key once. Empty only if there are aggregates.
    #[serde(rename = "$select", serialize_with = "serialize_select")]
    pub select: Vec<Selection>,
    /// Filters, order, paging and grouping of this level.
    #[serde(flatten)]
    pub controls: Controls,
}

fn serialize_select<S: Serializer>(select: &[Selection], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Selected<'q> {
        Field(bool),
        FieldAs {
            #[serde(rename = "$field")]
            name: &'q Name,
            #[serde(skip_serializing_if = "Option::is_none")]
            at: Option<&'q Name>,
        },
        Relation {
            #[serde(rename = "$relation", skip_serializing_if = "Option::is_none")]
            name: Option<&'q Name>,
            #[serde(flatten)]
            node: &'q ReadNode,
        },
    }
    serializer.collect_map(select.iter().map(|selection| {
        let selected = match selection {
            Selection::Field { alias: None, .. } => Selected::Field(true),
            Selection::Field { name, alias: Some(_), at } => Selected::FieldAs { name, at: at.as_ref() },
            Selection::Relation { name, alias, node } => {
                Selected::Relation { name: alias.as_ref().map(|_| name), node }
            }
        };
        (selection.key(), selected)
    }))
}

/// One entry of `$select`. `SPEC §3.3`, `SPEC §14.4`, `SPEC §22.1`
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// `"name": true`, or `"alias": {"$field": "name"}`: a scalar field. `"alias": {"$field": "name", "at": "/key"}`: a part
    /// of a JSON field.
    Field {
        /// The field.
        name: Name,
        /// Its key in the response, if it differs from the name.
        alias: Option<Name>,
        /// The JSON Pointer to the part. A part has an alias.
        at: Option<Name>,
    },
    /// `"name": {…}`, or `"alias": {"$relation": "name", …}`: a nested relation.
    Relation {
        /// The relation.
        name: Name,
        /// Its key in the response, if it differs from the name.
        alias: Option<Name>,
        /// The selection and the controls of the related entity.
        node: Box<ReadNode>,
    },
}

impl Selection {
    /// Returns the name of the field or the relation.
    pub fn name(&self) -> &Name {
        match self {
            Self::Field { name, .. } | Self::Relation { name, .. } => name,
        }
    }

    /// Returns the key in the response: the alias if there is one, else the name.
    pub fn key(&self) -> &Name {
        match self {
            Self::Field { name, alias, .. } | Self::Relation { name, alias, .. } => {
                alias.as_ref().unwrap_or(name)
            }
        }
    }
}

/// The controls of one read node; all absent by default. Each has the location of its key. `SPEC §3.5`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Controls {
    /// `$where`.
    #[serde(rename = "$where", skip_serializing_if = "is_default")]
    pub filter: Option<Spanned<Filter>>,
    /// `$orderBy`, most significant first; empty when absent.
    #[serde(rename = "$orderBy", skip_serializing_if = "is_default")]
    pub order: Spanned<Vec<OrderBy>>,
    /// `$page`.
    #[serde(rename = "$page", skip_serializing_if = "is_default")]
    pub page: Option<Spanned<Page>>,
    /// `$distinct`, never an empty list.
    #[serde(rename = "$distinct", skip_serializing_if = "is_default")]
    pub distinct: Option<Spanned<Vec<Name>>>,
    /// `$groupBy`, never an empty list.
    #[serde(rename = "$groupBy", skip_serializing_if = "is_default")]
    pub group: Option<Spanned<Vec<GroupKey>>>,
    /// `$aggregate`, in the order written; empty when absent.
    #[serde(
        rename = "$aggregate",
        skip_serializing_if = "is_default",
        serialize_with = "serialize_aggregates"
    )]
    pub aggregates: Spanned<Vec<Aggregate>>,
    /// `$having`.
    #[serde(rename = "$having", skip_serializing_if = "is_default")]
    pub having: Option<Spanned<Filter>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn serialize_aggregates<S: Serializer>(list: &[Aggregate], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(list.iter().map(|aggregate| (&aggregate.alias, aggregate)))
}

impl Controls {
    /// Lists the controls that are present, in the order of [`CONTROLS`]: their names and the locations of their keys.
    pub fn present(&self) -> impl Iterator<Item = (&'static str, Option<Span>)> {
        let present = [
            ("$where", self.filter.as_ref().map(|filter| filter.span)),
            ("$orderBy", (!self.order.is_empty()).then_some(self.order.span)),
            ("$page", self.page.as_ref().map(|page| page.span)),
            ("$distinct", self.distinct.as_ref().map(|fields| fields.span)),
            ("$groupBy", self.group.as_ref().map(|fields| fields.span)),
            ("$aggregate", (!self.aggregates.is_empty()).then_some(self.aggregates.span)),
            ("$having", self.having.as_ref().map(|filter| filter.span)),
        ];
        present.into_iter().filter_map(|(name, span)| Some((name, span?)))
    }
}

/// The keys of a read node that start with `$`, as written in queries. `SPEC §13.1`
pub const CONTROLS: [&str; 8] =
    ["$select", "$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"];

/// A filter tree, of `$where` or `$having`. `SPEC §3.5`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// `{and: [..]}`, never empty.
    And(Vec<Self>),
    /// `{or: [..]}`, never empty.
    Or(Vec<Self>),
    /// `{not: ..}`.
    Not(Box<Self>),
    /// `{search}`: the words that the record must contain. Not below `not`, and not in `$having`. `SPEC §20.2`
    Search(Spanned<OrParam<String>>),
    /// `{field, op, value}` or `{aggregate, op, value}`.
    #[serde(untagged)]
    Condition(Condition),
    /// `{relation, op, where}`.
    #[serde(untagged)]
    Relation(RelationCondition),
}

/// A leaf of a filter tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The value that is compared.
    #[serde(flatten)]
    pub subject: Subject,
    /// The comparison.
    pub op: Spanned<FilterOp>,
    /// The value or values to compare with. The variant fits the operator: nothing for the null tests, a list for those that
    /// take a list ([`FilterOp::takes_list`]).
    #[serde(skip_serializing_if = "is_default")]
    pub value: Operand,
}

/// A condition on the records of a relation. `SPEC §14.1`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationCondition {
    /// The relation.
    pub relation: Name,
    /// How many of the related records must match.
    pub op: Spanned<Quantifier>,
    /// The filter on related records; without a filter, all match. `every` always has a filter.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<Box<Filter>>,
}

/// The left side of a condition, or a sort key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A field of the entity, or a path through to-one relations: `author.name`.
    Field(Name),
    /// An alias of `$aggregate`.
    Aggregate(Name),
    /// A scalar or an array in a JSON field; used in conditions only. `SPEC §14.8`, `SPEC §22.2`
    #[serde(untagged)]
    Json {
        /// The field, or a path to it.
        field: Name,
        /// The JSON Pointer to the value.
        at: Name,
    },
}

impl Subject {
    /// Returns the name of the field or the alias.
    pub fn name(&self) -> &Name {
        match self {
            Self::Field(name) | Self::Aggregate(name) | Self::Json { field: name, .. } => name,
        }
    }
}

/// A value, or a parameter that takes its place. `SPEC §19.1`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OrParam<T> {
    /// The value.
    Value(T),
    /// `{"$param": "name"}`.
    Param {
        /// The name of the parameter.
        #[serde(rename = "$param")]
        name: Name,
    },
}

impl<T> OrParam<T> {
    /// Returns the value; `None` for a parameter.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Param { .. } => None,
        }
    }
}

/// The right side of a condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Operand {
    /// For `isNull` and `isNotNull`.
    #[default]
    None,
    /// For all other operators. For an operator that takes a list, it is a parameter whose value is a list.
    One(Spanned<OrParam<Literal>>),
    /// For operators that take a list; empty only for `in` and `nin`.
    Many(Vec<Spanned<OrParam<Literal>>>),
}

/// A scalar. The parser refuses `null` in conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Literal {
    /// `true`, `false`.
    Boolean(bool),
    /// A JSON number without fraction or exponent that fits 64 bits.
    Integer(i64),
    /// A larger one that fits 64 bits without a sign.
    Unsigned(u64),
    /// Any other JSON number; always finite.
    Number(f64),
    /// A JSON string.
    Text(String),
}

impl FilterOp {
    /// Returns whether the operator compares with a list of values.
    pub fn takes_list(self) -> bool {
        matches!(self, Self::In | Self::Nin) || self.takes_nonempty_list()
    }

    /// Returns whether the list must have a value.
    pub fn takes_nonempty_list(self) -> bool {
        matches!(self, Self::HasAny | Self::HasAll)
    }

    /// Returns whether the operator looks for values in a JSON array.
    pub fn is_of_arrays(self) -> bool {
        self == Self::Has || self.takes_nonempty_list()
    }
}

/// One key of `$orderBy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderBy {
    /// The value to sort by.
    #[serde(flatten)]
    pub key: OrderKey,
    /// The direction of values other than NULL; `None` for [`OrderKey::Search`] only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The position of NULL; by default [`Nulls::Last`] in both directions. `SPEC §3.9`
    #[serde(skip_serializing_if = "is_default")]
    pub nulls: Nulls,
}

/// A value that records are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OrderKey {
    /// A field, a path through to-one relations, or the alias of an aggregate in a grouped read.
    Subject(Subject),
    /// An aggregate of a to-many relation. `SPEC §14.3`
    Relation {
        /// The relation.
        relation: Name,
        /// The aggregate of its records, without an alias.
        aggregate: Aggregate,
    },
    /// `{"search": "relevance"}`: how well the record matches the search of `$where`, the best first. `SPEC §20.3`
    Search {
        /// The measure.
        search: Spanned<SearchOrder>,
    },
}

/// `$page`. `SPEC §3.10`, `SPEC §14.6`, `SPEC §14.7`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The maximum number of records from the start, or after the cursor in `after`. The default applies if neither this
    /// nor `last` is present.
    #[serde(skip_serializing_if = "is_default")]
    pub first: Option<Spanned<OrParam<u32>>>,
    /// A cursor from an earlier page; `null` and absent both mean the first page.
    #[serde(skip_serializing_if = "is_default")]
    pub after: Option<Spanned<OrParam<String>>>,
    /// The maximum number of records from the end, or before the cursor in `before`. Refused beside `first` or `after`.
    #[serde(skip_serializing_if = "is_default")]
    pub last: Option<Spanned<OrParam<u32>>>,
    /// A cursor from another page, which requires `last`; `null` and absent both mean the last page.
    #[serde(skip_serializing_if = "is_default")]
    pub before: Option<Spanned<OrParam<String>>>,
    /// The number of records to leave out at the start. Refused beside `after`, `last` and `before`.
    #[serde(skip_serializing_if = "is_default")]
    pub skip: Option<Spanned<OrParam<u32>>>,
    /// Whether to count all records that match.
    #[serde(skip_serializing_if = "is_default")]
    pub total: bool,
}

/// One entry of `$aggregate`. `SPEC §3.12`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// The key of the result in the item: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
    #[serde(skip)]
    pub alias: Name,
    /// The function to compute.
    #[serde(rename = "fn")]
    pub function: AggregateFn,
    /// The field that the function is applied to; `None` only for `count`, where `"*"` is parsed as `None`.
    #[serde(skip_serializing_if = "is_default")]
    pub field: Option<Name>,
    /// Whether equal values count once.
    #[serde(skip_serializing_if = "is_default")]
    pub distinct: bool,
}
