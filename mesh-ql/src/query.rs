//! The syntax tree of queries, for both formats.
//!
//! It is independent of schemas: names are text, values are literals. The order of `$select` is kept, since it is
//! the order of the response. Every part that errors refer to has the location of what was parsed
//! ([`Spanned`]).

use crate::span::{Name, Span, Spanned};

/// A whole query: one entity and what to read of it. `SPEC §3.1`
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The entity key at the root.
    pub entity: Name,
    /// What to read of it.
    pub root: ReadNode,
}

/// One level of a query: a selection and its controls. `SPEC §3.2`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadNode {
    /// What `$select` lists, in its order, every name once. Empty only beside aggregates.
    pub select: Vec<Selection>,
    /// Filters, order, paging and grouping of this level.
    pub controls: Controls,
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Controls {
    /// `$where`.
    pub filter: Option<Spanned<Filter>>,
    /// `$orderBy`, most significant first; empty when absent.
    pub order: Spanned<Vec<OrderBy>>,
    /// `$page`.
    pub page: Option<Spanned<Page>>,
    /// `$distinct`, never an empty list.
    pub distinct: Option<Spanned<Vec<Name>>>,
    /// `$groupBy`, never an empty list.
    pub group: Option<Spanned<Vec<Name>>>,
    /// `$aggregate`, in the order written; empty when absent.
    pub aggregates: Spanned<Vec<Aggregate>>,
    /// `$having`.
    pub having: Option<Spanned<Filter>>,
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
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// `{field, op, value}` or `{aggregate, op, value}`.
    Condition(Condition),
    /// `{and: [..]}`, never empty.
    And(Vec<Self>),
    /// `{or: [..]}`, never empty.
    Or(Vec<Self>),
    /// `{not: ..}`.
    Not(Box<Self>),
}

/// A leaf of a filter tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The value that is compared.
    pub subject: Subject,
    /// The comparison.
    pub op: Spanned<FilterOp>,
    /// The value or values to compare with. The variant fits the operator: nothing for the null tests, a list for `in` and
    /// `nin`.
    pub value: Operand,
}

/// The left side of a condition or the key of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// `isNull`, `isNotNull`.
    None,
    /// Every other operator.
    One(Spanned<Literal>),
    /// `in`, `nin`; may be empty.
    Many(Vec<Spanned<Literal>>),
}

/// A scalar as written. `null` is no literal: the parser refuses it in conditions.
#[derive(Clone, Debug, PartialEq)]
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

/// The operators of filters; [`FilterOp::ALL`] is the one list of them. `SPEC §3.7`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named as on the wire")]
pub enum FilterOp {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
    Nin,
    Like,
    Ilike,
    IsNull,
    IsNotNull,
}

impl FilterOp {
    /// All operators, in the order in which documents list them.
    pub const ALL: [Self; 12] = [
        Self::Eq,
        Self::Ne,
        Self::Gt,
        Self::Gte,
        Self::Lt,
        Self::Lte,
        Self::In,
        Self::Nin,
        Self::Like,
        Self::Ilike,
        Self::IsNull,
        Self::IsNotNull,
    ];

    /// Returns the operator's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::Nin => "nin",
            Self::Like => "like",
            Self::Ilike => "ilike",
            Self::IsNull => "isNull",
            Self::IsNotNull => "isNotNull",
        }
    }

    /// Returns the operator with that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// One key of `$orderBy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// A field, or at grouped roots an aggregate's alias.
    pub subject: Subject,
    /// The direction of values other than NULL.
    pub direction: Direction,
    /// The position of NULL; [`Nulls::Last`] in both directions unless written. `SPEC §3.9`
    pub nulls: Nulls,
}

/// The direction of an order key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named as on the wire")]
pub enum Direction {
    #[default]
    Asc,
    Desc,
}

impl Direction {
    /// Both directions, in the order in which documents list them.
    pub const ALL: [Self; 2] = [Self::Asc, Self::Desc];

    /// Returns the direction's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

/// The position of NULL in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named as on the wire")]
pub enum Nulls {
    First,
    #[default]
    Last,
}

impl Nulls {
    /// Both positions, in the order in which documents list them.
    pub const ALL: [Self; 2] = [Self::First, Self::Last];

    /// Returns the position's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

/// `$page`. `SPEC §3.10`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Page size, within the bound; the default applies where absent.
    pub first: Option<u32>,
    /// A cursor from an earlier page; `null` and absent both mean the first page.
    pub after: Option<Name>,
}

/// One entry of `$aggregate`. `SPEC §3.12`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// The key of the result in the item: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
    pub alias: Name,
    /// The function that is computed.
    pub function: AggregateFn,
    /// The field that it is computed over; `None` only for `count`, where `"*"` is parsed as `None`.
    pub field: Option<Name>,
    /// Whether equal values count once.
    pub distinct: bool,
}

/// The aggregate functions; [`AggregateFn::ALL`] is the one list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named as on the wire")]
pub enum AggregateFn {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

impl AggregateFn {
    /// All functions, in the order in which documents list them.
    pub const ALL: [Self; 5] = [Self::Count, Self::Sum, Self::Avg, Self::Min, Self::Max];

    /// Returns the function's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// Returns the function with that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }
}
