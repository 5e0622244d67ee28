//! Random queries that comply with every rule of the protocol.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::build::relevance;
use crate::{
    Aggregate, AggregateFn, Bucket, CONTROLS, Condition, Controls, Direction, Filter, FilterOp, GroupKey,
    Limits, Literal, Name, Nulls, Operand, OrParam, OrderBy, OrderKey, Page, Quantifier, Query, ReadNode,
    RelationCondition, Selection, Spanned, Subject, TimeUnit,
};

/// Bounds that no random query exceeds.
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
    relation_conditions: usize::MAX,
    aggregate_sorts: usize::MAX,
    search_words: usize::MAX,
    page_max: u32::MAX,
    skip: u32::MAX,
};

/// Generates any valid query.
pub(super) fn query() -> impl Strategy<Value = Query> {
    (".{0,6}", node(3)).prop_filter_map("no `$` at the root", |(entity, root)| {
        (!entity.starts_with('$')).then_some(Query { entity: entity.into(), root })
    })
}

/// Generates a query that the brace format can express.
pub(super) fn selection_query() -> impl Strategy<Value = Query> {
    ("[A-Za-z_][A-Za-z0-9_]{0,5}", plain_node(4))
        .prop_map(|(entity, root)| Query { entity: entity.into(), root })
}

fn plain_node(depth: u32) -> BoxedStrategy<ReadNode> {
    let name = "[A-Za-z_][A-Za-z0-9_]{0,3}";
    let below =
        if depth == 0 { Just(None).boxed() } else { option::weighted(0.3, plain_node(depth - 1)).boxed() };
    vec((name, Just(None), below), 1..4)
        .prop_map(|entries| ReadNode { select: selections(entries), controls: Controls::default() })
        .boxed()
}

fn node(depth: u32) -> BoxedStrategy<ReadNode> {
    let below = if depth == 0 { Just(None).boxed() } else { option::weighted(0.3, node(depth - 1)).boxed() };
    let below = below.prop_map(|node| node.map(as_relation));
    let alias = option::weighted(0.2, "[A-Za-z_][A-Za-z0-9_]{0,63}");
    let entries = vec((name(), alias, below), 0..4);
    (entries, controls()).prop_map(|(entries, controls)| tidy(entries, controls)).boxed()
}

/// Removes the controls that a relation must not have.
fn as_relation(mut node: ReadNode) -> ReadNode {
    if node.controls.aggregates.is_empty() {
        node.controls.group = None;
        node.controls.having = None;
    } else if node.controls.group.is_none() {
        node.controls.order.clear();
        node.controls.page = None;
        node.controls.having = None;
    }
    node
}

/// A name, an alias, and the node of a relation.
type Entry = (String, Option<String>, Option<ReadNode>);

fn selections(entries: Vec<Entry>) -> Vec<Selection> {
    let mut seen = HashSet::new();
    let selection = |(name, alias, below): Entry| {
        let (name, alias) = (Name::from(name), alias.map(Name::from));
        match below {
            Some(node) => Selection::Relation { name, alias, node: node.into() },
            // A name stands for a pointer.
            None => {
                let at = alias.as_ref().filter(|alias| alias.len() % 2 == 0);
                let at = at.map(|_| format!("/{}", name.replace('~', "~0")).into());
                Selection::Field { name, alias, at }
            }
        }
    };
    let all = entries.into_iter().map(selection);
    all.filter(|selection| seen.insert(selection.key().value.clone())).collect()
}

/// Removes the parts that violate the rules between selection and controls.
fn tidy(entries: Vec<Entry>, mut controls: Controls) -> ReadNode {
    let mut select = selections(entries);
    controls
        .aggregates
        .retain(|aggregate| select.iter().all(|selection| *selection.key() != aggregate.alias));
    let keys = controls.group.as_deref().map_or(&[][..], Vec::as_slice);
    controls.aggregates.retain(|aggregate| keys.iter().all(|key| *key.name() != aggregate.alias));
    if select.is_empty() && controls.aggregates.is_empty() {
        select.push(Selection::Field { name: "id".into(), alias: None, at: None });
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
    let order = vec((order_key(), select(&Direction::ALL[..]), select(&Nulls::ALL[..])), 0..3);
    let order = (order, any::<bool>());
    let parts = (
        option::weighted(0.3, filter(false)),
        order,
        option::weighted(0.3, page()),
        option::weighted(0.3, names()),
        option::weighted(0.3, group_keys()),
        prop_oneof![2 => Just(Vec::new()), 1 => aggregates()],
        option::weighted(0.3, filter(true)),
    );
    parts.prop_map(|(filter, (order, by_relevance), page, distinct, group, aggregates, having)| {
        let mut seen = HashSet::new();
        let order = order.into_iter().map(|(key, direction, nulls)| {
            let direction = Some(direction);
            OrderBy { key, direction, nulls }
        });
        let order = by_relevance.then(relevance).into_iter().chain(order);
        let order: Vec<_> = order.filter(|order| seen.insert(format!("{:?}", order.key))).collect();
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

fn page() -> impl Strategy<Value = Page> {
    let size = option::of(or_param(1..=u32::MAX));
    let cursor = option::of(or_param(any::<String>()));
    let skip = option::weighted(0.3, or_param(any::<u32>()));
    (any::<bool>(), size, cursor, skip, any::<bool>()).prop_map(|(forward, size, cursor, skip, total)| {
        if forward {
            let after = cursor.filter(|_| skip.is_none());
            return Page { first: size, after, skip, total, ..Page::default() };
        }
        let before = cursor.filter(|_| size.is_some());
        Page { last: size, before, total, ..Page::default() }
    })
}

fn or_param<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Spanned<OrParam<T>>> {
    let param = "[A-Za-z_][A-Za-z0-9_]{0,63}".prop_map(|name| OrParam::Param { name: name.into() });
    prop_oneof![3 => value.prop_map(OrParam::Value), 1 => param].prop_map(Spanned::from)
}

fn order_key() -> impl Strategy<Value = OrderKey> {
    let relation = (any::<String>(), aggregates()).prop_map(|(relation, aggregates)| {
        let aggregate = Aggregate { alias: Name::default(), ..aggregates[0].clone() };
        OrderKey::Relation { relation: relation.into(), aggregate }
    });
    prop_oneof![3 => subject(true).prop_map(OrderKey::Subject), 1 => relation]
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    vec(any::<String>(), 1..3).prop_map(|names| {
        let mut seen = HashSet::new();
        names.into_iter().filter(|name| seen.insert(name.clone())).map(Name::from).collect()
    })
}

fn group_keys() -> impl Strategy<Value = Vec<GroupKey>> {
    let bucket = (any::<String>(), select(&TimeUnit::ALL[..]), "[A-Za-z_]{1,9}", option::of(any::<String>()));
    let bucket = bucket.prop_map(|(field, unit, alias, zone)| {
        let zone = zone.filter(|_| !unit.is_within_day()).map(Name::from);
        GroupKey::Bucket(Bucket { field: field.into(), unit: unit.into(), alias: alias.into(), zone })
    });
    let field = any::<String>().prop_map(|name| GroupKey::Field(name.into()));
    vec(prop_oneof![2 => field, 1 => bucket], 1..3).prop_map(|mut keys| {
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.name().value.clone()));
        keys
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
    let one = || or_param(literal());
    let pointer = "(/([a-z0-9]|~0|~1){0,3}){0,2}";
    let at = option::weighted(0.2, pointer).prop_map(move |at| at.filter(|_| !having));
    let leaf = (subject(having), at, select(&FilterOp::ALL[..]), one(), vec(one(), 0..3));
    let leaf = leaf.prop_map(|(subject, at, op, one, many)| {
        let is_param = one.value.value().is_none();
        let value = match op {
            FilterOp::IsNull | FilterOp::IsNotNull => Operand::None,
            op if op.takes_nonempty_list() && !is_param && many.is_empty() => Operand::Many(vec![one]),
            op if op.takes_list() && !is_param => Operand::Many(many),
            _ => Operand::One(one),
        };
        let subject = match (subject, at) {
            (Subject::Field(field), Some(at)) => Subject::Json { field, at: at.into() },
            (subject, _) => subject,
        };
        Filter::Condition(Condition { subject, op: op.into(), value })
    });
    let text = or_param(any::<String>()).prop_map(Filter::Search);
    let searches = if having { 0 } else { 1 };
    prop_oneof![6 => leaf, searches => text].prop_recursive(4, 8, 3, move |below| {
        let all = vec(below.clone(), 1..3).prop_map(Filter::And);
        let any = vec(below.clone(), 1..3).prop_map(Filter::Or);
        let not = below.clone().prop_filter("no search", |filter| !has_search(filter));
        let not = not.prop_map(|filter| Filter::Not(Box::new(filter)));
        if having {
            return prop_oneof![all, any, not].boxed();
        }
        let related = (".*", select(&Quantifier::ALL[..]), option::of(below.clone()), below);
        let related = related.prop_map(|(relation, op, filter, required)| {
            let filter = if op == Quantifier::Every { Some(required) } else { filter };
            let (relation, filter) = (Name::from(relation), filter.map(Box::new));
            Filter::Relation(RelationCondition { relation, op: op.into(), filter })
        });
        prop_oneof![all, any, not, related].boxed()
    })
}

fn has_search(filter: &Filter) -> bool {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(has_search),
        Filter::Not(part) => has_search(part),
        Filter::Condition(_) => false,
        Filter::Relation(condition) => condition.filter.as_deref().is_some_and(has_search),
        Filter::Search(_) => true,
    }
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<bool>().prop_map(Literal::Boolean),
        any::<i64>().prop_map(Literal::Integer),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Literal::Number),
        Just(Literal::Number(u64::MAX as f64)),
        (i64::MAX as u64 + 1..).prop_map(Literal::Unsigned),
        any::<String>().prop_map(Literal::Text),
    ]
}
