//! The statements of a plan: one for the rows of each node, except for to-one relations, whose records are joined to the rows
//! of their parents.

use mesh_schema::{ColumnPair, Link, TableName};
use sea_query::{
    Asterisk, Expr, ExprTrait as _, JoinType, Query, SelectStatement, SqliteQueryBuilder, UnionType,
};

use super::class::Mixed;
use super::dialect::Sqlite;
use super::keyset;
use super::{Operand, Param};
use crate::class::Class as _;
use crate::custom::count_rows;
use crate::dialect::{Dialect as _, Operands};
use crate::join_room::JoinRoom;
use crate::links::{JUNCTION, key_of_one, linked, table_operand};
use crate::order::{order_by, sort_terms};
use crate::related::{RowOperands, is_subquery};
use crate::statement::{Params, Statement};
use crate::total::all_rows;
use crate::{group, param, predicate};
use mesh_plan::Value;
use mesh_plan::plan::{ColumnSource, CompareOp, Join, Nesting, PageSize, ReadTarget};
use mesh_plan::{Node, Plan};

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
        Lowering { sqlite: Sqlite::PLAIN, nodes: 0 }.node(plan.node(), None, point)
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
struct Lowering {
    sqlite: Sqlite,
    /// The number of nodes that were lowered. It is part of the alias of a node's table, so that no two statements of a plan
    /// have the same text: a connection caches prepared statements by their text, and those of nested nodes run at the same
    /// time.
    nodes: usize,
}

/// A statement under construction, to which records are joined.
struct SelectBuilder {
    select: SelectStatement,
    params: Params<Param>,
    columns: Vec<Expr>,
    room: JoinRoom,
}

impl Lowering {
    fn node(&mut self, node: &Node, parent: Option<(&Node, &Join)>, point: bool) -> Statements {
        let (statement, joins) = self.statement(node, parent, point);
        let always_has_row = parent.is_some_and(|(_, join)| join.nesting == Nesting::Group);
        let counts = node.page.as_ref().is_some_and(|page| page.total);
        let total = counts.then(|| total(self.sqlite, node));
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
        let (sqlite, alias) = (self.sqlite, self.alias());
        let mut params = Params::new(Some(|rows| Param::Value(Value::Integer(rows as i64))));
        let limit = limit(&mut params, node, parent.map(|(_, join)| join), point);
        let mut select = Query::select();
        select.from_as(sqlite.table(&node.table), alias.clone());
        let operands = RowOperands::new(&sqlite, &mut params, node, alias.clone(), (&mut select, false));
        let junction = parent.and_then(|(_, join)| UniquePairs::of(&join.link));
        // The junction's column is equal to the target's column, and an index on it may have the rows in order.
        let values = |source: &ColumnSource| match (&junction, source) {
            (Some(pairs), ColumnSource::Column(column)) if column == pairs.target => {
                Operand::of(pairs.column(pairs.to), node.native.get(column))
            }
            _ => operands.get(source),
        };
        for (part, id) in node.id.iter().enumerate().filter(|_| point) {
            let native = match &id.source {
                ColumnSource::Column(column) => node.native.get(column),
                _ => None,
            };
            let param = param::id(&mut params, part, &Mixed::of_key(native));
            select.and_where(sqlite.compare_same_type(values(&id.source).expr, CompareOp::Eq, param, native));
        }
        if let Some((parent, join)) = parent {
            let mut keys = join.parent_keys.iter().map(|key| params.add(Param::Parent(*key)));
            match &junction {
                Some(pairs) => pairs.join(&mut select, &alias, keys.next()),
                None => {
                    select.and_where(linked(&sqlite, parent, (&join.link, node), (&alias, JUNCTION), keys));
                }
            }
        }
        if let Some(filter) = &node.filter {
            select.and_where(predicate::lower(&sqlite, &mut params, &values, filter));
        }
        if let Some(grouping) = &node.grouping {
            let mut groups = group::fold(&sqlite, select, &values, grouping);
            let values = |source: &ColumnSource| group::operand(&sqlite, &values, grouping, source);
            if let Some(having) = &grouping.having {
                groups.and_where(predicate::lower(&sqlite, &mut params, &values, having));
            }
            show(&mut groups, node, node.columns.iter().map(|column| values(&column.source).expr).collect());
            let select = complete(node, groups, limit, &mut params, &values);
            return (params.render(&select, SqliteQueryBuilder), Vec::new());
        }
        let columns = node.columns.iter().map(|column| values(&column.source).expr).collect();
        let mut rows = SelectBuilder { select, params, columns, room: JoinRoom::default() };
        let joins = self.joins(&mut rows, node, &alias);
        let SelectBuilder { mut select, mut params, columns, .. } = rows;
        show(&mut select, node, columns);
        let select = complete(node, select, limit, &mut params, &values);
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
        let (sqlite, node, alias) = (self.sqlite, &join.node, self.alias());
        let operand = |alias: &str, column: &str| Expr::col((alias.to_owned(), column.to_owned()));
        let key = |pair: &ColumnPair| operand(parent_alias, &pair.parent);
        let keys = pairs.iter().map(|pair| sqlite.parent_key(key(pair), join.is_same_type));
        let mut condition = linked(&sqlite, parent, (&join.link, node), (&alias, JUNCTION), keys);
        let values = |source: &ColumnSource| table_operand(&node.native, &alias, source);
        if let Some(filter) = &node.filter {
            condition = condition.and(predicate::lower(&sqlite, &mut rows.params, &values, filter));
        }
        rows.select.join_as(JoinType::LeftJoin, sqlite.table(&node.table), alias.clone(), condition);
        let offset = rows.columns.len();
        rows.columns.extend(node.columns.iter().map(|column| values(&column.source).expr));
        let compared = pairs.first().map(|pair| operand(&alias, &pair.target));
        let presence = match known_presence(join, pairs) {
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

/// Returns the position of a column of a to-one relation that the link compares. It is never NULL if there is a record.
fn known_presence(join: &Join, pairs: &[ColumnPair]) -> Option<usize> {
    let is_compared = |source: &ColumnSource| matches!(source, ColumnSource::Column(name) if pairs.iter().any(|pair| pair.target == *name));
    join.node.columns.iter().position(|column| is_compared(&column.source))
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
            .join_as(
                JoinType::InnerJoin,
                Sqlite::PLAIN.table(self.table),
                JUNCTION,
                target.eq(self.column(self.to)),
            )
            .and_where(self.column(self.from).eq(parent.unwrap_or_else(Expr::null)));
    }
}

/// Returns the statement that counts all rows of a root.
fn total(sqlite: Sqlite, node: &Node) -> Statement<Param> {
    let mut params = Params::new(None);
    let mut rows = all_rows(&sqlite, &mut params, node, "t".to_owned());
    params.render(rows.expr(count_rows()), SqliteQueryBuilder)
}

/// Returns the limit of the rows of a node.
fn limit(params: &mut Params<Param>, node: &Node, join: Option<&Join>, point: bool) -> Option<u64> {
    if point || join.is_some_and(|join| join.nesting == Nesting::Record) {
        // A single row needs no limit. With an order, however, SQLite would sort all rows to find it.
        return (!node.order.is_empty()).then_some(1);
    }
    // The root reads one more row, which shows whether another page follows.
    let more = u8::from(join.is_none());
    node.page.as_ref().map(|page| match page.size {
        PageSize::Rows(rows) => u64::from(rows) + u64::from(more),
        PageSize::Input(slot) => param::limit(params, slot, more),
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
    limit: Option<u64>,
    params: &mut Params<Param>,
    columns: &Operands<'_, Sqlite>,
) -> SelectStatement {
    let sorted = |source: &ColumnSource| {
        let shown = node.order.iter().find(|key| key.source == *source).and_then(|key| key.column);
        match shown.filter(|_| is_subquery(node, source)) {
            Some(column) => columns(source).with_expr(Expr::col(sort_name(column))),
            None => columns(source),
        }
    };
    let ordered = |mut select: SelectStatement| {
        order_by(&mut select, sort_terms::<Sqlite>(&sorted, &node.order));
        for (term, order) in keyset::tie_breaks(&sorted, &node.order) {
            select.order_by_expr(term, order);
        }
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
