//! Which statement fetches a node's rows?

use mesh_schema::{Cardinality, Link, TableName};
use sea_query::{
    Asterisk, Expr, ExprTrait, NullOrdering, Order, Query, SelectStatement, TableRef, UnionType,
};

use mesh_ql::{Direction, Nulls};

use super::predicate::{self, Names};
use super::{group, keyset, slot};
use crate::plan::{ColumnSource, Join, Node, SortKey};

/// The alias of a junction table.
const JUNCTION: &str = "j";

/// The statement of a node: at the root of a point read for one id, below a root for one parent.
/// `number` tells the nodes of a plan apart, so that no two of its statements have the same text: a
/// connection keeps prepared statements by their text, and nested ones are under way together.
pub(super) fn lower(node: &Node, join: Option<&Join>, point: bool, number: usize) -> SelectStatement {
    let alias = format!("t{number}");
    let names = Names::Table(&alias);
    let mut rows = Query::select();
    rows.from_as(table(&node.table), alias.clone());
    if let (true, Some(id)) = (point, &node.id) {
        rows.and_where(names.expr(&id.source).eq(Expr::val(slot::id())));
    }
    if let Some(join) = join {
        rows.and_where(linked(&names, join));
    }
    if let Some(filter) = &node.filter {
        rows.and_where(predicate::lower(&names, filter));
    }
    match &node.grouping {
        Some(grouping) => {
            let mut groups = group::lower(rows, &names, grouping);
            let names = Names::Groups(grouping);
            if let Some(having) = &grouping.having {
                groups.and_where(predicate::portable(&names, having));
            }
            finish(groups, node, join, point, &names)
        }
        None => finish(rows, node, join, point, &names),
    }
}

/// Adds what rows and groups have alike: columns, where the page starts, order and limit.
fn finish(
    mut select: SelectStatement,
    node: &Node,
    join: Option<&Join>,
    point: bool,
    names: &Names<'_>,
) -> SelectStatement {
    select.exprs(node.columns.iter().map(|column| names.expr(&column.source)));
    if node.columns.is_empty() {
        select.expr(Expr::val(1i64));
    }
    let one = point || join.is_some_and(|join| join.cardinality == Cardinality::One);
    let limit = match &node.page {
        // Rows come one by one, and nobody asks for a second; but all would be sorted for the first.
        _ if one => (!node.order.is_empty()).then_some(1),
        // At the root one more, which tells whether another page follows.
        Some(page) => Some(u64::from(page.first) + u64::from(join.is_none())),
        None => None,
    };
    let after = node.page.as_ref().and_then(|page| page.after.as_ref());
    if let (Some(after), Some(limit), None) = (after, limit, &node.grouping)
        && let Some(parts) = keyset::parts(names, &node.order, after)
    {
        let parts = parts.map(|part| ordered(select.clone().and_where(part), node, names, Some(limit)));
        return in_turn(parts, limit);
    }
    if let Some(after) = after {
        select.and_where(keyset::after(names, &node.order, after));
    }
    ordered(&mut select, node, names, limit)
}

fn ordered(
    select: &mut SelectStatement,
    node: &Node,
    names: &Names<'_>,
    limit: Option<u64>,
) -> SelectStatement {
    for key in &node.order {
        order(select, names, key);
    }
    if let Some(limit) = limit {
        select.limit(limit);
    }
    select.take()
}

/// The rows of one statement and then those of another, so many in all. SQLite runs the parts in turn, and the
/// second not at all where the first has enough.
fn in_turn([first, second]: [SelectStatement; 2], limit: u64) -> SelectStatement {
    let all = |part: SelectStatement, alias: &str| {
        Query::select().column(Asterisk).from_subquery(part, alias.to_owned()).take()
    };
    let mut rows = all(first, "first");
    rows.union(UnionType::All, all(second, "second")).limit(limit).take()
}

/// SQLite puts NULL first where it ascends and last where it descends; saying so again would only keep it
/// from using an index.
fn order(select: &mut SelectStatement, names: &Names<'_>, key: &SortKey) {
    let order = match key.direction {
        Direction::Asc => Order::Asc,
        Direction::Desc => Order::Desc,
    };
    let nulls = match (key.direction, key.nulls) {
        (Direction::Asc, Nulls::Last) if key.nullable => Some(NullOrdering::Last),
        (Direction::Desc, Nulls::First) if key.nullable => Some(NullOrdering::First),
        _ => None,
    };
    let expr = names.expr(&key.source);
    match nulls {
        Some(nulls) => select.order_by_expr_with_nulls(expr, order, nulls),
        None => select.order_by_expr(expr, order),
    };
}

/// The rows that belong to one parent. A junction is asked with `IN`, so that a pair that stands in it twice
/// gives its row once.
fn linked(names: &Names<'_>, join: &Join) -> Expr {
    let column = |name: &String| names.expr(&ColumnSource::Column(name.clone()));
    match &join.link {
        Link::Direct { pairs } => pairs
            .iter()
            .enumerate()
            .map(|(index, pair)| column(&pair.target).eq(Expr::val(slot::parent(index))))
            .reduce(Expr::and)
            .unwrap_or_else(|| Expr::val(true)),
        Link::Through { table: junction, from, to, target, .. } => {
            let mut pairs = Query::select();
            pairs
                .column((JUNCTION, to.clone()))
                .from_as(table(junction), JUNCTION)
                .and_where(Expr::col((JUNCTION, from.clone())).eq(Expr::val(slot::parent(0))));
            column(target).in_subquery(pairs)
        }
    }
}

fn table(name: &TableName) -> TableRef {
    match &name.schema {
        Some(schema) => (schema.clone(), name.name.clone()).into(),
        None => name.name.clone().into(),
    }
}
