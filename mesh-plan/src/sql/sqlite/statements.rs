//! The statements of a plan, one for the rows of each node.

use sea_query::{Asterisk, Expr, ExprTrait as _, Query, SelectStatement, SqliteQueryBuilder, UnionType};

use super::dialect::Sqlite;
use super::keyset;
use super::param::Param;
use crate::Value;
use crate::plan::{ColumnSource, Join, JoinForm, Node, Plan, Target};
use crate::sql::custom::count_rows;
use crate::sql::dialect::Operands;
use crate::sql::links::{linked, table};
use crate::sql::order::{order_by, sort_terms};
use crate::sql::related::RowOperands;
use crate::sql::statement::{Params, Statement};
use crate::sql::{group, predicate};

/// The statements of a plan, as a tree of the same form as its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Statements {
    /// The statement of this node.
    pub statement: Statement<Param>,
    /// The statements of its joins, in the plan's order.
    pub joins: Vec<Self>,
    /// Whether there is a row even if the parent's key is NULL: the aggregates of no records.
    pub always_has_row: bool,
    /// The statement that counts all rows, if the page asks for it.
    pub total: Option<Statement<Param>>,
}

impl Statements {
    /// Lowers a plan.
    pub fn from_plan(plan: &Plan) -> Self {
        let point = matches!(plan.target(), Target::Point(_));
        Self::from_node(plan.node(), None, point, &mut 0)
    }

    /// Lowers a node and its joins, whose nesting is bounded as that of queries.
    fn from_node(node: &Node, parent: Option<(&Node, &Join)>, point: bool, count: &mut usize) -> Self {
        let number = *count;
        *count += 1;
        let counts = node.page.as_ref().is_some_and(|page| page.total);
        Self {
            always_has_row: parent.is_some_and(|(_, join)| join.form == JoinForm::Group),
            total: counts.then(|| total(node)),
            statement: lower(node, parent, point, number),
            joins: (node.joins.iter())
                .map(|join| Self::from_node(&join.node, Some((node, join)), false, count))
                .collect(),
        }
    }
}

/// Lowers a node: at the root of a point read the record with one id, below a root the rows of one parent.
///
/// `number` is the node's position in the plan. It is part of the text, so that no two statements of a plan have the
/// same one: a connection caches prepared statements by their text, and those of nested nodes run at the same time.
fn lower(node: &Node, parent: Option<(&Node, &Join)>, point: bool, number: usize) -> Statement<Param> {
    let mut params = Params::new(Some(|rows| Param::Value(Value::Integer(rows as i64))));
    let alias = format!("t{number}");
    let mut rows = Query::select();
    rows.from_as(table(&node.table), alias.clone());
    let operands = RowOperands::new(&Sqlite, &mut params, node, alias.clone(), &mut rows);
    let columns = |source: &ColumnSource| operands.get(source);
    if let (true, Some(id)) = (point, &node.id) {
        rows.and_where(columns(&id.source).eq(params.add(Param::Id)));
    }
    if let Some((parent, join)) = parent {
        let keys = join.parent_keys.iter().map(|key| params.add(Param::Parent(*key)));
        rows.and_where(linked(&Sqlite, parent, (&join.link, node), &alias, keys));
    }
    if let Some(filter) = &node.filter {
        rows.and_where(predicate::lower(&Sqlite, &mut params, &columns, filter));
    }
    let limit = limit(node, parent.map(|(_, join)| join), point);
    let select = match &node.grouping {
        Some(grouping) => {
            let mut groups = group::fold(&Sqlite, rows, &columns, grouping);
            let columns = |source: &ColumnSource| group::operand(&Sqlite, &columns, grouping, source);
            if let Some(having) = &grouping.having {
                groups.and_where(predicate::lower(&Sqlite, &mut params, &columns, having));
            }
            complete(node, groups, limit, &mut params, &columns)
        }
        None => complete(node, rows, limit, &mut params, &columns),
    };
    params.render(&select, SqliteQueryBuilder)
}

/// Lowers the number of all rows of a root.
fn total(node: &Node) -> Statement<Param> {
    let mut params = Params::new(None);
    let mut rows = Query::select();
    rows.from_as(table(&node.table), "t");
    let operands = RowOperands::new(&Sqlite, &mut params, node, "t".to_owned(), &mut rows);
    let columns = |source: &ColumnSource| operands.get(source);
    if let Some(filter) = &node.filter {
        rows.and_where(predicate::lower(&Sqlite, &mut params, &columns, filter));
    }
    if let Some(grouping) = &node.grouping {
        rows = group::fold(&Sqlite, rows, &columns, grouping);
        let columns = |source: &ColumnSource| group::operand(&Sqlite, &columns, grouping, source);
        if let Some(having) = &grouping.having {
            rows.and_where(predicate::lower(&Sqlite, &mut params, &columns, having));
        }
    }
    params.render(rows.expr(count_rows()), SqliteQueryBuilder)
}

fn limit(node: &Node, join: Option<&Join>, point: bool) -> Option<u64> {
    if point || join.is_some_and(|join| join.form == JoinForm::Record) {
        // A single row is fetched without a limit, but with an order all rows would be sorted for it.
        return (!node.order.is_empty()).then_some(1);
    }
    // One more at the root, which shows whether another page follows.
    node.page.as_ref().map(|page| u64::from(page.size) + u64::from(join.is_none()))
}

/// Adds what rows and groups have in common: columns, start, order and limit.
fn complete(
    node: &Node,
    mut select: SelectStatement,
    limit: Option<u64>,
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite>,
) -> SelectStatement {
    select.exprs(node.columns.iter().map(|column| columns(&column.source)));
    if node.columns.is_empty() {
        select.expr(Expr::Constant(1.into()));
    }
    let ordered = |mut select: SelectStatement| {
        order_by(&mut select, sort_terms(&Sqlite, columns, &node.order));
        if let Some(limit) = limit {
            select.limit(limit);
        }
        select
    };
    if let Some(nulls) = node.page.as_ref().and_then(|page| page.cursor_nulls.as_deref()) {
        // Groups have no index that two parts could use.
        if node.grouping.is_none()
            && let Some(limit) = limit
            && let Some(parts) = keyset::parts(params, columns, &node.order, nulls)
        {
            return one_after_the_other(
                parts.map(|part| ordered(select.clone().and_where(part).take())),
                limit,
            );
        }
        select.and_where(keyset::after(params, columns, &node.order, nulls));
    }
    ordered(select)
}

/// Returns the rows of the first part and then those of the second, up to the limit. SQLite runs the second part only
/// if the first one has too few rows.
fn one_after_the_other([first, second]: [SelectStatement; 2], limit: u64) -> SelectStatement {
    let all = |part: SelectStatement, alias: &'static str| {
        Query::select().column(Asterisk).from_subquery(part, alias).take()
    };
    let mut rows = all(first, "first");
    rows.union(UnionType::All, all(second, "second")).limit(limit).take()
}
