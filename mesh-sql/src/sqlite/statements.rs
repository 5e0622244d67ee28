//! The statements of a plan: one for the rows of each node, except for to-one relations, whose records are joined to the rows
//! of their parents.

use std::borrow::Cow;

use mesh_ql::Nulls;
use mesh_schema::{ColumnPair, Link, TableName};
use sea_query::{
    Asterisk, Expr, ExprTrait as _, JoinType, Query, SelectStatement, SqliteQueryBuilder, UnionType,
};

use super::Param;
use super::dialect::Sqlite;
use super::search;
use crate::custom::count_rows;
use crate::dialect::{Dialect as _, Operands};
use crate::join_room::JoinRoom;
use crate::levels::skip;
use crate::links::{JUNCTION, key_of_one, linked, linked_columns, table_operand};
use crate::node_select::{NodeSelect, all_rows};
use crate::order::{order_by, sort_terms};
use crate::related::is_subquery;
use crate::statement::{Params, Statement};
use crate::{group, keyset, param, predicate};
use mesh_plan::Value;
use mesh_plan::plan::{ColumnSource, Join, Nesting, ReadTarget, RowCount, SortKey};
use mesh_plan::{Node, Plan};

/// The dialect of reads.
const SQLITE: Sqlite = Sqlite::PLAIN;

/// The statements of a plan, as a tree with the same form as its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Statements {
    /// The location of this node's rows.
    pub rows: NodeRows,
    /// The statements of its joins, in the plan's order.
    pub joins: Vec<Self>,
    /// The statement that counts all rows, if the page asks for it.
    pub total: Option<Statement<Param>>,
}

/// The location of a node's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeRows {
    /// In a separate statement, which is run once for each parent.
    Statement {
        /// The statement.
        statement: Statement<Param>,
        /// Whether there is a row even if the parent's key is NULL: the aggregates over no records.
        always_has_row: bool,
    },
    /// In the rows of the parent's statement: the node is the single record of a to-one relation.
    Joined {
        /// The position of the node's first column among all columns of the statement.
        offset: usize,
        /// The position of a column that is NULL if there is no record, and only then. Without a record, the columns of the
        /// node are NULL as well.
        presence: usize,
    },
}

impl Statements {
    /// Lowers a plan. To-one relations are joined into the statements of their parents.
    pub fn from_plan(plan: &Plan) -> Self {
        let point = matches!(plan.target(), ReadTarget::Point(_));
        Lowering { nodes: 0, cursor: plan.cursor() }.node(plan.node(), None, point)
    }

    /// Returns the statements, parents before children. The statement that counts all rows follows the statement of the rows.
    pub fn iter(&self) -> impl Iterator<Item = &Statement<Param>> {
        let mut left = vec![self];
        let trees = std::iter::from_fn(move || {
            let tree = left.pop()?;
            left.extend(tree.joins.iter().rev());
            Some(tree)
        });
        trees.flat_map(|tree| tree.rows.statement().into_iter().chain(&tree.total))
    }
}

impl NodeRows {
    /// Returns the statement of the node; `None` if its rows are joined to the parent's.
    pub fn statement(&self) -> Option<&Statement<Param>> {
        match self {
            Self::Statement { statement, .. } => Some(statement),
            Self::Joined { .. } => None,
        }
    }
}

/// The lowering of a plan's nodes. Their nesting is bounded, because the nesting of queries is.
struct Lowering<'p> {
    /// The number of nodes that were lowered. It is part of the alias of a node's table, so that no two statements of a plan
    /// have the same text: a connection caches prepared statements by their text, and those of nested nodes run at the same
    /// time.
    nodes: usize,
    /// The values of the cursor.
    cursor: Option<&'p [Value]>,
}

/// A statement under construction, to which records are joined.
struct SelectBuilder {
    select: SelectStatement,
    params: Params<'static, Param>,
    columns: Vec<Expr>,
    room: JoinRoom,
}

impl Lowering<'_> {
    fn node(&mut self, node: &Node, parent: Option<(&Node, &Join)>, point: bool) -> Statements {
        let (statement, joins) = self.statement(node, parent, point);
        let always_has_row = parent.is_some_and(|(_, join)| join.nesting == Nesting::Group);
        let counts = node.page.as_ref().is_some_and(|page| page.total);
        let total = counts.then(|| total(node));
        Statements { rows: NodeRows::Statement { statement, always_has_row }, joins, total }
    }

    /// Lowers a node and the to-one relations that are joined to it, for which there is room. At the root of a point read, the statement
    /// reads the record with one id; below a root, it reads the rows of one parent. Also returns the statements of the nodes
    /// below the node.
    fn statement(
        &mut self,
        node: &Node,
        parent: Option<(&Node, &Join)>,
        point: bool,
    ) -> (Statement<Param>, Vec<Statements>) {
        let alias = self.alias();
        let mut params = Params::new(&[], Some(|rows| Param::Value(Value::Integer(rows as i64))));
        let limit = limit(&mut params, node, parent.map(|(_, join)| join), point);
        let mut rows = NodeSelect::new(&SQLITE, &mut params, node, alias.clone(), Query::select(), false);
        if point {
            rows.find_id(&mut params);
        }
        if parent.is_none()
            && let Some(filter) = &node.filter
        {
            let key_of = |key: &str| Expr::col((alias.clone(), key.to_owned()));
            let joined =
                search::join(&mut params, &mut rows.select, filter, key_of, |name| SQLITE.table(name));
            if let Some((key, row_id, rest)) = joined {
                rows.operands.replaced = Some((key, row_id));
                rows.filter = rest.map(Cow::Owned);
            }
        }
        if let Some((parent, join)) = parent {
            let mut keys = join.parent_keys.iter().map(|key| params.add(Param::Parent(*key)));
            match UniquePairs::of(&join.link) {
                Some(pairs) => {
                    pairs.join(&mut rows.select, &alias, keys.next());
                    // The junction's column is equal to the target's column, and an index on it may have the rows in order.
                    rows.operands.replaced = Some((pairs.target, pairs.column(pairs.to)));
                }
                None => {
                    let place = (&*alias, JUNCTION);
                    rows.select.and_where(linked(&SQLITE, parent, (&join.link, node), place, keys));
                }
            }
        }
        rows.filter_and_fold(&mut params, |rows, operands, grouping| {
            group::fold(&SQLITE, rows, operands, grouping)
        });
        let select = rows.select.take();
        let values = |source: &ColumnSource| rows.operand(source);
        let columns = node.columns.iter().map(|column| values(&column.source).expr).collect();
        let mut joined = SelectBuilder { select, params, columns, room: JoinRoom::default() };
        let joins = self.joins(&mut joined, node, &alias);
        let SelectBuilder { mut select, mut params, columns, .. } = joined;
        show(&mut select, node, columns);
        // Only the root has a cursor.
        let after = self.cursor.filter(|_| parent.is_none());
        let select = complete(node, select, (after, limit), &mut params, &values);
        (params.render(&select, SqliteQueryBuilder), joins)
    }

    /// Returns the alias of the next node's table.
    fn alias(&mut self) -> String {
        self.nodes += 1;
        format!("t{}", self.nodes - 1)
    }

    /// Lowers the nodes below a node.
    fn joins(&mut self, rows: &mut SelectBuilder, node: &Node, alias: &str) -> Vec<Statements> {
        let lower = |join: &Join| match key_of_one(join) {
            Some(pairs) if join.node.related.is_empty() && rows.room.take(join) => {
                self.join(rows, (node, alias), (join, pairs))
            }
            _ => self.node(&join.node, Some((node, join)), false),
        };
        node.joins.iter().map(lower).collect()
    }

    /// Joins the record of a to-one relation to the rows. Without a record, or if a policy hides it, its columns are NULL.
    fn join(
        &mut self,
        rows: &mut SelectBuilder,
        (parent, parent_alias): (&Node, &str),
        (join, pairs): (&Join, &[ColumnPair]),
    ) -> Statements {
        let (node, alias) = (&join.node, self.alias());
        let operand = |alias: &str, column: &str| Expr::col((alias.to_owned(), column.to_owned()));
        let key = |pair: &ColumnPair| operand(parent_alias, &pair.parent);
        let keys = pairs.iter().map(|pair| SQLITE.parent_key(key(pair), join.is_same_type));
        let mut condition = linked(&SQLITE, parent, (&join.link, node), (&alias, JUNCTION), keys);
        let values = |source: &ColumnSource| table_operand(&node.native, &alias, source);
        if let Some(filter) = &node.filter {
            condition = condition.and(predicate::lower(&SQLITE, &mut rows.params, &values, filter));
        }
        rows.select.join_as(JoinType::LeftJoin, SQLITE.table(&node.table), alias.clone(), condition);
        let offset = rows.columns.len();
        rows.columns.extend(node.columns.iter().map(|column| values(&column.source).expr));
        let compared = pairs.first().map(|pair| operand(&alias, &pair.target));
        let presence = match linked_columns(node, pairs).next() {
            Some(column) => offset + column,
            None => {
                rows.columns.extend(compared);
                rows.columns.len() - 1
            }
        };
        let joins = self.joins(rows, node, &alias);
        Statements { rows: NodeRows::Joined { offset, presence }, joins, total: None }
    }
}

/// A junction that contains each pair of a parent and a record only once, so that it can be joined to the records.
struct UniquePairs<'a> {
    table: &'a TableName,
    from: &'a str,
    to: &'a str,
    target: &'a str,
}

impl<'a> UniquePairs<'a> {
    fn of(link: &'a Link) -> Option<Self> {
        match link {
            Link::Through { table, from, to, target, is_unique: true, .. } => {
                Some(Self { table, from, to, target })
            }
            _ => None,
        }
    }

    fn column(&self, name: &str) -> Expr {
        Expr::col((JUNCTION, name.to_owned()))
    }

    /// Joins the pairs of one parent to the records under that alias.
    fn join(&self, records: &mut SelectStatement, alias: &str, parent: Option<Expr>) {
        let target = Expr::col((alias.to_owned(), self.target.to_owned()));
        records
            .join_as(JoinType::InnerJoin, SQLITE.table(self.table), JUNCTION, target.eq(self.column(self.to)))
            .and_where(self.column(self.from).eq(parent.unwrap_or_else(Expr::null)));
    }
}

/// Returns the statement that counts all rows of a root.
fn total(node: &Node) -> Statement<Param> {
    let mut params = Params::new(&[], None);
    let mut rows = all_rows(&SQLITE, &mut params, node, "t".to_owned());
    params.render(rows.expr(count_rows()), SqliteQueryBuilder)
}

/// Returns the limit of the rows of a node.
fn limit(params: &mut Params<'_, Param>, node: &Node, join: Option<&Join>, point: bool) -> Option<u64> {
    if point || join.is_some_and(|join| join.nesting == Nesting::Record) {
        // A single row needs no limit. With an order, however, SQLite would sort all rows to find it.
        return (!node.order.is_empty()).then_some(1);
    }
    // The root reads one more row, which shows whether another page follows.
    let more = u8::from(join.is_none());
    node.page.as_ref().map(|page| match page.size {
        RowCount::Rows(rows) => u64::from(rows) + u64::from(more),
        RowCount::Input(slot) => param::limit(params, slot, more),
    })
}

/// Adds the columns of the rows, or a constant if there are none: a statement needs at least one column.
fn show(select: &mut SelectStatement, node: &Node, columns: Vec<Expr>) {
    if columns.is_empty() {
        select.expr(Expr::Constant(1.into()));
    }
    for (index, column) in columns.into_iter().enumerate() {
        match node.order.iter().find(|key| key.column == Some(index) && is_subquery(node, &key.source)) {
            Some(_) => select.expr_as(column, sort_name(index)),
            None => select.expr(column),
        };
    }
}

/// Returns the name of a column that is a subquery. Sorting rows by this name does not run the subquery again.
fn sort_name(column: usize) -> String {
    format!("sort{column}")
}

/// Adds the parts that rows and groups share: start, order and limit.
fn complete(
    node: &Node,
    mut select: SelectStatement,
    (after, limit): (Option<&[Value]>, Option<u64>),
    params: &mut Params<'_, Param>,
    columns: &Operands<'_, Sqlite>,
) -> SelectStatement {
    let sorted = |source: &ColumnSource| {
        let shown = node.order.iter().find(|key| key.source == *source).and_then(|key| key.column);
        match shown.filter(|_| is_subquery(node, source)) {
            Some(column) => columns(source).with_expr(Expr::col(sort_name(column))),
            None => columns(source),
        }
    };
    let offset = skip(node).map(|skip| param::offset(params, skip));
    let ordered = |mut select: SelectStatement| {
        order_by(&mut select, sort_terms::<Sqlite>(&sorted, &node.order));
        if let Some(limit) = limit {
            select.limit(limit);
        }
        if let Some(offset) = offset {
            select.offset(offset);
        }
        select
    };
    if let Some(values) = after {
        // Groups have no index that two parts could use.
        if node.grouping.is_none()
            && let Some(limit) = limit
            && let Some(parts) = split_at_nulls(params, columns, &node.order, values)
        {
            return one_after_the_other(
                parts.map(|part| ordered(select.clone().and_where(part).take())),
                limit,
            );
        }
        select.and_where(keyset::after(&SQLITE, params, columns, &node.order, values));
    }
    ordered(select)
}

/// Returns the conditions on the rows after a cursor in two parts, rows with a value and then rows with NULL; `None` unless NULLs
/// follow the values of the first key. A scan of an index can start where either part begins. With one condition for both
/// parts, it would start at the first row for every page.
fn split_at_nulls(
    params: &mut Params<'_, Param>,
    columns: &Operands<'_, Sqlite>,
    order: &[SortKey],
    values: &[Value],
) -> Option<[Expr; 2]> {
    let key = order.first()?;
    if !key.nullable || key.nulls != Nulls::Last || values.first()? == &Value::Null {
        return None;
    }
    let mut with_value = order.to_vec();
    with_value.iter_mut().take(1).for_each(|key| key.nullable = false);
    let with_value = keyset::after(&SQLITE, params, columns, &with_value, values);
    Some([with_value, columns(&key.source).expr.is_null()])
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
