//! Random queries that comply with every rule of the protocol.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{
    Aggregate, AggregateFn, CONTROLS, Condition, Controls, Direction, Filter, FilterOp, Limits, Literal,
    Name, Nulls, Operand, OrderBy, Page, Query, ReadNode, Selection, Spanned, Subject,
};

/// Bounds that no random query passes.
pub(super) const WIDE: Limits = Limits {
    query_bytes: usize::MAX,
    depth: Limits::MAX_DEPTH,
    fields: usize::MAX,
    relations: usize::MAX,
    filter_depth: Limits::MAX_FILTER_DEPTH,
    filter_nodes: usize::MAX,
    in_values: usize::MAX,
    group_keys: usize::MAX,
    aggregates: usize::MAX,
    page_max: u32::MAX,
};

/// Any query.
pub(super) fn query() -> impl Strategy<Value = Query> {
    (".{0,6}", node(3)).prop_filter_map("no `$` at the root", |(entity, root)| {
        (!entity.starts_with('$')).then_some(Query { entity: entity.into(), root })
    })
}

/// A query that the brace format can express.
pub(super) fn selection_query() -> impl Strategy<Value = Query> {
    ("[A-Za-z_][A-Za-z0-9_]{0,5}", plain_node(4))
        .prop_map(|(entity, root)| Query { entity: entity.into(), root })
}

fn plain_node(depth: u32) -> BoxedStrategy<ReadNode> {
    let name = "[A-Za-z_][A-Za-z0-9_]{0,3}";
    let below =
        if depth == 0 { Just(None).boxed() } else { option::weighted(0.3, plain_node(depth - 1)).boxed() };
    vec((name, below), 1..4)
        .prop_map(|entries| ReadNode { select: selections(entries), controls: Controls::default() })
        .boxed()
}

fn node(depth: u32) -> BoxedStrategy<ReadNode> {
    let below = if depth == 0 { Just(None).boxed() } else { option::weighted(0.3, node(depth - 1)).boxed() };
    (vec((name(), below), 0..4), controls()).prop_map(|(entries, controls)| tidy(entries, controls)).boxed()
}

fn selections(entries: Vec<(String, Option<ReadNode>)>) -> Vec<Selection> {
    let mut seen = HashSet::new();
    let fresh = entries.into_iter().filter(|(name, _)| seen.insert(name.clone()));
    fresh
        .map(|(name, below)| match below {
            Some(node) => Selection::Relation(name.into(), node),
            None => Selection::Field(name.into()),
        })
        .collect()
}

/// Drops what the rules between selection and controls forbid.
fn tidy(entries: Vec<(String, Option<ReadNode>)>, mut controls: Controls) -> ReadNode {
    let mut select = selections(entries);
    controls
        .aggregates
        .retain(|aggregate| select.iter().all(|selection| *selection.name() != aggregate.alias));
    if select.is_empty() && controls.aggregates.is_empty() {
        select.push(Selection::Field("id".into()));
    }
    if controls.group.is_some() || !controls.aggregates.is_empty() {
        controls.distinct = None;
    } else {
        controls.having = None;
    }
    ReadNode { select, controls }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,2}", any::<String>()]
        .prop_filter("no control", |name| !CONTROLS.contains(&name.as_str()))
}

fn controls() -> impl Strategy<Value = Controls> {
    let order = vec((subject(true), select(&Direction::ALL[..]), select(&Nulls::ALL[..])), 0..3);
    let page = (option::of(1..=u32::MAX), option::of(any::<String>()));
    let page = page.prop_map(|(first, after)| Page { first, after: after.map(Name::from) });
    let parts = (
        option::weighted(0.3, filter(false)),
        order,
        option::weighted(0.3, page),
        option::weighted(0.3, names()),
        option::weighted(0.3, names()),
        prop_oneof![2 => Just(Vec::new()), 1 => aggregates()],
        option::weighted(0.3, filter(true)),
    );
    parts.prop_map(|(filter, order, page, distinct, group, aggregates, having)| {
        let mut seen = HashSet::new();
        let order =
            order.into_iter().map(|(subject, direction, nulls)| OrderBy { subject, direction, nulls });
        let order: Vec<_> = order.filter(|key| seen.insert(format!("{:?}", key.subject))).collect();
        Controls {
            filter: filter.map(Spanned::from),
            order: order.into(),
            page: page.map(Spanned::from),
            distinct: distinct.map(Spanned::from),
            group: group.map(Spanned::from),
            aggregates: aggregates.into(),
            having: having.map(Spanned::from),
        }
    })
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    vec(any::<String>(), 1..3).prop_map(|names| {
        let mut seen = HashSet::new();
        names.into_iter().filter(|name| seen.insert(name.clone())).map(Name::from).collect()
    })
}

fn subject(aggregates: bool) -> impl Strategy<Value = Subject> {
    (any::<String>(), any::<bool>()).prop_map(move |(name, aggregate)| {
        if aggregate && aggregates { Subject::Aggregate(name.into()) } else { Subject::Field(name.into()) }
    })
}

fn aggregates() -> impl Strategy<Value = Vec<Aggregate>> {
    let field = option::of(any::<String>().prop_filter("a field", |name| name != "*"));
    let aggregate = ("[A-Za-z_][A-Za-z0-9_]{0,63}", select(&AggregateFn::ALL[..]), field, any::<bool>());
    let aggregate = aggregate.prop_map(|(alias, function, field, distinct)| {
        let field = field.or_else(|| (function != AggregateFn::Count).then(String::new));
        let distinct = distinct && field.is_some();
        Aggregate { alias: alias.into(), function, distinct, field: field.map(Name::from) }
    });
    vec(aggregate, 1..3).prop_map(|aggregates| {
        let mut seen = HashSet::new();
        aggregates.into_iter().filter(|aggregate| seen.insert(aggregate.alias.value.clone())).collect()
    })
}

fn filter(having: bool) -> impl Strategy<Value = Filter> {
    let leaf = (subject(having), select(&FilterOp::ALL[..]), literal(), vec(literal(), 0..3));
    let leaf = leaf.prop_map(|(subject, op, one, many)| {
        let value = match op {
            FilterOp::IsNull | FilterOp::IsNotNull => Operand::None,
            FilterOp::In | FilterOp::Nin => Operand::Many(many.into_iter().map(Spanned::from).collect()),
            _ => Operand::One(one.into()),
        };
        Filter::Condition(Condition { subject, op: op.into(), value })
    });
    leaf.prop_recursive(4, 8, 3, |below| {
        prop_oneof![
            vec(below.clone(), 1..3).prop_map(Filter::And),
            vec(below.clone(), 1..3).prop_map(Filter::Or),
            below.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Boolean),
        any::<i64>().prop_map(Literal::Integer),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Literal::Number),
        Just(Literal::Number(u64::MAX as f64)),
        any::<String>().prop_map(Literal::Text),
    ]
}
