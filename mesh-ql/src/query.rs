//! The syntax tree of queries, for both formats.
//!
//! It is independent of schemas: names are text, values are literals. The order of `$select` is kept, since it is
//! the order of the response. Every part that errors refer to has the location of what was parsed ([`Spanned`]). The
//! tree serializes as a query in the JSON format.

use serde::{Serialize, Serializer};

use crate::named_enum;
use crate::span::{Name, Span, Spanned};

/// A whole query: one entity and what to read of it. `SPEC §3.1`
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The entity key at the root.
    pub entity: Name,
    /// What to read of it.
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
    /// What `$select` lists, in its order, every name once. Empty only beside aggregates.
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
        Relation(&'q ReadNode),
    }
    serializer.collect_map(select.iter().map(|selection| match selection {
        Selection::Field(name) => (name, Selected::Field(true)),
        Selection::Relation(name, node) => (name, Selected::Relation(node)),
    }))
}

/// One entry of `$select`. `SPEC §3.3`
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "plain to match on; the bound on fields keeps a query small")]
pub enum Selection {
    /// `"name": true`, a scalar field.
    Field(Name),
    /// `"ref": {…}`, a nested relation.
    Relation(Name, ReadNode),
}

impl Selection {
    /// Returns the name of the field or the relation.
    pub fn name(&self) -> &Name {
        match self {
            Self::Field(name) | Self::Relation(name, _) => name,
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
    pub group: Option<Spanned<Vec<Name>>>,
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

/// Every key of a read node that starts with `$`, as they are written. `SPEC §13.1`
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
    /// `{field, op, value}` or `{aggregate, op, value}`.
    #[serde(untagged)]
    Condition(Condition),
}

/// A leaf of a filter tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The value that is compared.
    #[serde(flatten)]
    pub subject: Subject,
    /// The comparison.
    pub op: Spanned<FilterOp>,
    /// The value or values to compare with. The variant fits the operator: nothing for the null tests, a list for `in` and
    /// `nin`.
    #[serde(skip_serializing_if = "is_default")]
    pub value: Operand,
}

/// The left side of a condition or the key of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A field of the entity.
    Field(Name),
    /// An alias of `$aggregate`.
    Aggregate(Name),
}

impl Subject {
    /// Returns the name of the field or the alias.
    pub fn name(&self) -> &Name {
        match self {
            Self::Field(name) | Self::Aggregate(name) => name,
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
    /// For all operators not listed here.
    One(Spanned<Literal>),
    /// For `in` and `nin`; may be empty.
    Many(Vec<Spanned<Literal>>),
}

/// A scalar. The parser refuses `null` in conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Literal {
    /// `true`, `false`.
    Boolean(bool),
    /// A JSON number without fraction or exponent that fits 64 bits.
    Integer(i64),
    /// Any other JSON number; always finite.
    Number(f64),
    /// A JSON string.
    Text(String),
}

named_enum! {
    /// The operators of filters. `SPEC §3.7`
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    FilterOp {
        Eq = "eq",
        Ne = "ne",
        Gt = "gt",
        Gte = "gte",
        Lt = "lt",
        Lte = "lte",
        In = "in",
        Nin = "nin",
        Like = "like",
        Ilike = "ilike",
        IsNull = "isNull",
        IsNotNull = "isNotNull",
    }
}

/// One key of `$orderBy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderBy {
    /// A field, or at grouped roots an aggregate's alias.
    #[serde(flatten)]
    pub subject: Subject,
    /// The direction of values other than NULL.
    pub direction: Direction,
    /// The position of NULL; [`Nulls::Last`] in both directions unless written. `SPEC §3.9`
    #[serde(skip_serializing_if = "is_default")]
    pub nulls: Nulls,
}

named_enum! {
    /// The direction of an order key.
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    Direction {
        Asc = "asc",
        Desc = "desc",
    }
}

named_enum! {
    /// The position of NULL in an order.
    #[derive(Default)]
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    Nulls {
        First = "first",
        #[default]
        Last = "last",
    }
}

/// `$page`. `SPEC §3.10`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// Page size, within the bound; the default applies where absent.
    #[serde(skip_serializing_if = "is_default")]
    pub first: Option<u32>,
    /// A cursor from an earlier page; `null` and absent both mean the first page.
    #[serde(skip_serializing_if = "is_default")]
    pub after: Option<Name>,
}

/// One entry of `$aggregate`. `SPEC §3.12`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// The key of the result in the item: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
    #[serde(skip)]
    pub alias: Name,
    /// The function that is computed.
    #[serde(rename = "fn")]
    pub function: AggregateFn,
    /// The field that it is computed over; `None` only for `count`, where `"*"` is parsed as `None`.
    #[serde(skip_serializing_if = "is_default")]
    pub field: Option<Name>,
    /// Whether equal values count once.
    #[serde(skip_serializing_if = "is_default")]
    pub distinct: bool,
}

named_enum! {
    /// The aggregate functions.
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    AggregateFn {
        Count = "count",
        Sum = "sum",
        Avg = "avg",
        Min = "min",
        Max = "max",
    }
}
