//! The statement that fetches the rows of one node.

use mesh_schema::{Cardinality, Link};
use sea_query::{Asterisk, Expr, ExprTrait as _, Query, SelectStatement, SqliteQueryBuilder, UnionType};

use super::dialect::table_column;
use super::param::Param;
use super::{group, keyset, predicate};
use crate::Value;
use crate::plan::{ColumnSource, Join, Node};
use crate::sql::links::{Junction, table};
use crate::sql::order::{self, NullOrder, SortTerm};
use crate::sql::predicate::Columns;
use crate::sql::statement::Params;
use crate::sql::statement::Statement;

/// Lowers a node: at the root of a point read the record with one id, below a root the rows of one parent.
///
/// `number` is the node's position in the plan. It is part of the text, so that no two statements of a plan have the
/// same one: a connection caches prepared statements by their text, and those of nested nodes run at the same time.
pub(super) fn lower(node: &Node, join: Option<&Join>, point: bool, number: usize) -> Statement<Param> {
    let mut params = Params::new(Some(|rows| Param::Value(Value::Integer(rows as i64))));
    let alias = format!("t{number}");
    let columns = |source: &ColumnSource| table_column(&alias, source);
    let mut rows = Query::select();
    rows.from_as(table(&node.table), alias.clone());
    if let (true, Some(id)) = (point, &node.id) {
        rows.and_where(columns(&id.source).eq(params.add(Param::Id)));
    }
    if let Some(join) = join {
        rows.and_where(linked(&mut params, &columns, join));
    }
    if let Some(filter) = &node.filter {
        rows.and_where(predicate::lower(&mut params, &columns, filter));
    }
    let page = Page::new(node, join, point);
    let select = match &node.grouping {
        Some(grouping) => {
            let mut groups = group::fold(rows, &columns, grouping);
            let columns = |source: &ColumnSource| group::column(grouping, source);
            if let Some(having) = &grouping.having {
                groups.and_where(predicate::lower(&mut params, &columns, having));
            }
            page.complete(groups, &mut params, &columns)
        }
        None => page.complete_rows(rows, &mut params, &columns),
    };
    params.render(&select, SqliteQueryBuilder)
}

/// Columns, start, order and limit, which rows and groups have in common.
struct Page<'n> {
    node: &'n Node,
    limit: Option<u64>,
    /// Which of the cursor's values are NULL.
    after: Option<&'n [bool]>,
}

impl<'n> Page<'n> {
    fn new(node: &'n Node, join: Option<&Join>, point: bool) -> Self {
        let one = point || join.is_some_and(|join| join.cardinality == Cardinality::One);
        let limit = match &node.page {
            // A single row is fetched without a limit, but with an order all rows would be sorted for it.
            _ if one => (!node.order.is_empty()).then_some(1),
            // One more at the root, which shows whether another page follows.
            Some(page) => Some(u64::from(page.first) + u64::from(join.is_none())),
            None => None,
        };
        Self { node, limit, after: node.page.as_ref().and_then(|page| page.after.as_deref()) }
    }

    fn complete_rows(
        &self,
        mut rows: SelectStatement,
        params: &mut Params<Param>,
        columns: &Columns<'_>,
    ) -> SelectStatement {
        if let (Some(after), Some(limit)) = (self.after, self.limit)
            && let Some(parts) = keyset::parts(params, columns, &self.node.order, after)
        {
            self.select_columns(&mut rows, columns);
            let parts = parts.map(|part| self.ordered(rows.clone().and_where(part).take(), columns));
            return one_after_the_other(parts, limit);
        }
        self.complete(rows, params, columns)
    }

    fn complete(
        &self,
        mut select: SelectStatement,
        params: &mut Params<Param>,
        columns: &Columns<'_>,
    ) -> SelectStatement {
        self.select_columns(&mut select, columns);
        if let Some(after) = self.after {
            select.and_where(keyset::after(params, columns, &self.node.order, after));
        }
        self.ordered(select, columns)
    }

    fn select_columns(&self, select: &mut SelectStatement, columns: &Columns<'_>) {
        select.exprs(self.node.columns.iter().map(|column| columns(&column.source)));
        if self.node.columns.is_empty() {
            select.expr(Expr::Constant(1.into()));
        }
    }

    fn ordered(&self, mut select: SelectStatement, columns: &Columns<'_>) -> SelectStatement {
        let terms = self.node.order.iter();
        let terms = terms.map(|key| SortTerm::new(columns(&key.source), key, NullOrder::Smallest));
        order::order_by(&mut select, terms);
        if let Some(limit) = self.limit {
            select.limit(limit);
        }
        select
    }
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

/// Returns the condition on the rows that belong to one parent.
fn linked(params: &mut Params<Param>, columns: &Columns<'_>, join: &Join) -> Expr {
    let column = |name: &str| columns(&ColumnSource::Column(name.to_owned()));
    let mut keys = join.parent_keys.iter().map(|key| params.add(Param::Parent(*key)));
    match &join.link {
        Link::Direct { pairs } => (pairs.iter().zip(keys))
            .map(|(pair, key)| column(&pair.target).eq(key))
            .reduce(Expr::and)
            .unwrap_or_else(|| Expr::Constant(true.into())),
        Link::Through { table, from, to, target, .. } => {
            let junction = Junction { table, from, to };
            junction.links(column(target), keys.next().unwrap_or_else(Expr::null))
        }
    }
}
