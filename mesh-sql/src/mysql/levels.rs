//! Levels in MariaDB: the rows of all parents are joined at once, and window functions number those of each parent.

use std::borrow::Cow;

use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp, Grouping, Join, RowCount, SortKey};
use mesh_ql::AggregateFn;
use sea_query::{
    Asterisk, CommonTableExpression, Expr, ExprTrait as _, Func, JoinType, Order, OverStatement as _, Query,
    SelectStatement, WindowStatement, WithClause,
};

use super::Operand;
use super::dialect::MySql;
use super::type_class::TypeClass;
use crate::alias::{
    PARENT_NUMBER, PARENTS, ROW_NUMBER, column, column_name, level_name, rows_alias, table_alias,
};
use crate::class::Class as _;
use crate::custom::cast;
use crate::dialect::{Dialect as _, Operands};
use crate::layout::Layout;
use crate::levels::{
    Level, LevelDialect, LevelRows, Lowering, ParentKey, PendingRelation, Position, Scope, skip,
};
use crate::links::{JUNCTION, key_of_one, linked};
use crate::order::{SortTerm, order_by, sort_terms};
use crate::predicate::compare;
use crate::{group, param};

/// The maximum number of levels that are common table expressions. The database allows 64. The statements of further levels are
/// repeated where their rows are needed.
const EXPRESSIONS_MAX: usize = 60;
/// The column with the number of a row among those of its parent.
const ROW_IN_PARENT: &str = "r";
/// The alias of the groups of parents that have records.
const NONEMPTY_GROUPS: &str = "x";

/// Returns the number of a row, which orders the rows of a parent.
fn row_number(level: &Level) -> Expr {
    match &level.rows {
        LevelRows::SeveralParents { .. } if !level.has_children => Expr::col(ROW_IN_PARENT),
        _ => Expr::col(ROW_NUMBER),
    }
}

/// Adds the rows of a level to the `FROM` clause of a statement.
fn add_from(select: &mut SelectStatement, levels: &[Level], number: usize, alias: &str) {
    match levels.get(number).filter(|_| number >= EXPRESSIONS_MAX) {
        Some(level) => select.from_subquery(select_of(level), alias.to_owned()),
        None => select.from_as(level_name(number), alias.to_owned()),
    };
}

/// Returns the number of the parent of a row.
fn parent_number() -> Expr {
    Expr::col((PARENTS, ROW_NUMBER))
}

impl LevelDialect for MySql {
    const COUNT_TYPE: &'static str = "SIGNED";
    const REPEATS_LEVELS: bool = true;

    fn may_join(join: &Join) -> bool {
        join.is_same_type && key_of_one(join).is_some()
    }

    fn sort_keys(node: &Node) -> Cow<'_, [SortKey]> {
        if node.grouping.is_none() {
            return Cow::Borrowed(&node.order);
        }
        // A group of dates without a month or a day is NULL, even if the column cannot hold NULL.
        let is_date = |source: &ColumnSource| match source {
            ColumnSource::Column(column) => TypeClass::of(node.native.get(column)).is_date(),
            _ => false,
        };
        let keys = node.order.iter();
        keys.map(|key| SortKey { nullable: key.nullable || is_date(&key.source), ..key.clone() }).collect()
    }

    fn fold(
        &self,
        levels: &[Level],
        mut rows: SelectStatement,
        operands: &Operands<'_, Self>,
        grouping: &Grouping,
        scope: &Scope,
    ) -> SelectStatement {
        let Scope::OfParents { level, row_number_max } = scope else {
            return group::fold(self, rows, operands, grouping);
        };
        rows.expr_as(parent_number(), PARENT_NUMBER).add_group_by([parent_number()]);
        let found = group::groups(self, rows, operands, grouping);
        if !grouping.keys.is_empty() {
            return group::named(found);
        }
        // Each parent has one group, also if it has no records.
        let mut all = Query::select();
        all.expr_as(parent_number(), PARENT_NUMBER);
        for (index, call) in grouping.aggregates.iter().enumerate() {
            let name = group::aggregate_name(index);
            let value = Expr::col((NONEMPTY_GROUPS, name.clone()));
            let value = match call.function {
                AggregateFn::Count => Func::coalesce([value, Expr::Constant(0.into())]).into(),
                _ => value,
            };
            all.expr_as(value, name);
        }
        add_from(&mut all, levels, *level, PARENTS);
        let same = Expr::col((NONEMPTY_GROUPS, PARENT_NUMBER)).eq(parent_number());
        all.join_subquery(JoinType::LeftJoin, found, NONEMPTY_GROUPS, same);
        if let Some(row_number_max) = row_number_max {
            all.and_where(compare(parent_number(), CompareOp::Lte, row_number_max.clone()));
        }
        group::named(all)
    }

    fn limit(
        &self,
        select: &mut SelectStatement,
        node: &Node,
        operands: &Operands<'_, Self>,
        keys: &[SortKey],
        scope: &Scope,
    ) {
        let terms = sort_terms::<Self>(operands, keys);
        let limit = match scope {
            Scope::OfParents { .. } => {
                let parent = if node.grouping.is_some() { Expr::col(PARENT_NUMBER) } else { parent_number() };
                let mut window = WindowStatement::new();
                window.add_partition_by(parent.clone());
                order_by(&mut window, terms);
                select.expr_window_as(Func::cust("ROW_NUMBER"), window, ROW_IN_PARENT);
                select.expr_as(parent, PARENT_NUMBER);
                return;
            }
            Scope::First(limit) => {
                for (index, key) in keys.iter().enumerate() {
                    select.expr_as(operands(&key.source).comparable().expr, sort_name(index));
                }
                limit
            }
            Scope::Any(limit) => limit,
        };
        if let Some(limit) = limit {
            order_by(select, terms);
            select.limit(*limit);
        }
    }

    fn root_rows(&self, node: &Node, alias: &str, _columns: &[usize], is_point: bool) -> LevelRows {
        if is_point { LevelRows::One } else { LevelRows::Ordered(self.sort(node, alias)) }
    }

    fn add_joined<'p>(
        lowering: &mut Lowering<'p, Self>,
        join: &'p Join,
        parent: &'p Node,
        keys: &[usize],
        position: &Position<'_>,
    ) -> Layout {
        let (dialect, node) = (lowering.dialect, &join.node);
        let pairs = key_of_one(join).unwrap_or_default();
        let (number, columns) = lowering.numbers(node);
        let alias = rows_alias(number);
        let mut rows =
            lowering.rows(node, (number, &columns), Query::select(), Vec::new(), &Scope::Any(None));
        let mut condition: Option<Expr> = None;
        let mut presence = 0;
        for (pair, key) in pairs.iter().zip(keys) {
            presence = lowering.next();
            let table = Expr::col((table_alias(number), pair.target.clone()));
            rows.expr_as(table, column_name(presence));
            let target = Operand::of(column(&alias, presence), node.native.get(&pair.target));
            let key = Operand::of(column(position.alias, *key), parent.native.get(&pair.parent));
            let equal = dialect.equal(target, key);
            condition = Some(match condition {
                Some(condition) => condition.and(equal),
                None => equal,
            });
        }
        // A column that the link compares is never NULL if there is a row.
        let class = pairs.last().map(|pair| TypeClass::of(node.native.get(&pair.target)));
        lowering.show(position.level, presence, &class.unwrap_or(TypeClass::Unknown));
        if let Some(level) = lowering.levels.get_mut(position.level) {
            let condition = condition.unwrap_or_else(|| Expr::Constant(false.into()));
            level.select.join_subquery(JoinType::LeftJoin, rows, alias.clone(), condition);
            level.sources.push(alias.clone());
        }
        lowering.add(node, &Position { alias: &alias, ..*position }, columns, Some(presence))
    }

    fn add_level<'p>(lowering: &mut Lowering<'p, Self>, relation: &PendingRelation<'p>) -> Layout {
        let PendingRelation { join, parent, level, key, path } = relation;
        let (dialect, node) = (lowering.dialect, &join.node);
        let (number, columns) = lowering.numbers(node);
        let alias = rows_alias(number);
        // The parents come before the table, because joins apply to the last table of the list.
        let mut select = Query::select();
        let limit = lowering.rows_per_parent(join, matches!(key, ParentKey::Id(_)));
        let (keys, scope, rows) = match key {
            ParentKey::Id(id) => {
                let rows = LevelRows::SingleParent(dialect.sort(node, &alias));
                (vec![id.clone()], Scope::First(Some(limit)), rows)
            }
            ParentKey::Columns(keys) => {
                add_from(&mut select, &lowering.levels, *level, PARENTS);
                let row_number_max = lowering.shown_rows(*level);
                let per_parent = match node.page.as_ref().map(|page| page.size) {
                    Some(size @ RowCount::Input(_)) => lowering.page_size(size),
                    _ => Expr::Constant((limit as i64).into()),
                };
                let skip = skip(node).map(|skip| param::skip(&mut lowering.params, skip));
                let rows = LevelRows::SeveralParents { skip, per_parent, rows_max: lowering.rows_max };
                let keys = keys.iter().map(|key| column(PARENTS, *key)).collect();
                (keys, Scope::OfParents { level: *level, row_number_max }, rows)
            }
        };
        let place = (&*table_alias(number), JUNCTION);
        let mut conditions = vec![linked(dialect, parent, (&join.link, node), place, keys)];
        if let Scope::OfParents { row_number_max: Some(row_number_max), .. } = &scope {
            conditions.push(compare(parent_number(), CompareOp::Lte, row_number_max.clone()));
        }
        let selected = lowering.rows(node, (number, &columns), select, conditions, &scope);
        let select = Query::select().from_subquery(selected, alias.clone()).take();
        let here = lowering.push_level(node, Some(*level), &alias, select, rows);
        lowering.add(node, &Position { level: here, alias: &alias, path }, columns, None)
    }

    fn order(level: &Level) -> &[SortTerm] {
        match &level.rows {
            LevelRows::Ordered(order) | LevelRows::SingleParent(order) => order,
            LevelRows::One | LevelRows::SeveralParents { .. } => &[],
        }
    }

    fn head(number: usize, level: &Level) -> [Expr; 3] {
        let parent = match level.parent {
            Some(_) => Expr::col(PARENT_NUMBER),
            None => cast(Expr::null(), "SIGNED"),
        };
        [Expr::Constant((number as i64).into()), parent, row_number(level)]
    }

    fn add_from(select: &mut SelectStatement, levels: &[Level], number: usize) {
        add_from(select, levels, number, &level_name(number));
    }

    fn expressions(levels: &[Level]) -> WithClause {
        let mut with = WithClause::new();
        for (number, level) in levels.iter().enumerate().take(EXPRESSIONS_MAX) {
            let mut expression = CommonTableExpression::new();
            expression.table_name(level_name(number)).query(select_of(level));
            with.cte(expression);
        }
        with
    }
}

impl MySql {
    /// Returns the order of rows by the columns of [`Scope::First`].
    fn sort(&self, node: &Node, alias: &str) -> Vec<SortTerm> {
        let operands = |source: &ColumnSource| {
            let index = node.order.iter().position(|key| key.source == *source).unwrap_or_default();
            // The column contains the value in a form that can be ordered.
            Operand::new(Expr::col((alias.to_owned(), sort_name(index))), TypeClass::Unknown)
        };
        sort_terms::<Self>(&operands, &Self::sort_keys(node)).collect()
    }
}

/// Returns the statement of a level.
fn select_of(level: &Level) -> SelectStatement {
    let Level { mut select, rows, sources, has_children, .. } = level.clone();
    let first = || Expr::Constant(1.into());
    let number_rows = |select: &mut SelectStatement, order: Vec<SortTerm>| {
        let mut window = WindowStatement::new();
        order_by(&mut window, order);
        select.expr_window_as(Func::cust("ROW_NUMBER"), window, ROW_NUMBER);
    };
    match rows {
        LevelRows::One => {
            select.expr_as(first(), ROW_NUMBER);
        }
        LevelRows::Ordered(order) => number_rows(&mut select, order),
        LevelRows::SingleParent(order) => {
            number_rows(&mut select, order);
            select.expr_as(first(), PARENT_NUMBER);
        }
        LevelRows::SeveralParents { skip, per_parent, rows_max } => {
            let source = sources.first().cloned().unwrap_or_default();
            let column = |name: &'static str| Expr::col((source.clone(), name));
            let last = match skip {
                Some(skip) => {
                    select.and_where(column(ROW_IN_PARENT).gt(skip.clone()));
                    skip.add(per_parent)
                }
                None => per_parent,
            };
            select.and_where(column(ROW_IN_PARENT).lte(last));
            if has_children {
                let mut window = WindowStatement::new();
                window.order_by_expr(column(PARENT_NUMBER), Order::Asc);
                window.order_by_expr(column(ROW_IN_PARENT), Order::Asc);
                select.expr_window_as(Func::cust("ROW_NUMBER"), window, ROW_NUMBER);
            }
            select.order_by_expr(column(PARENT_NUMBER), Order::Asc);
            select.order_by_expr(column(ROW_IN_PARENT), Order::Asc).limit(rows_max);
        }
    }
    select.exprs(sources.into_iter().map(|source| Expr::col((source, Asterisk))));
    select
}

fn sort_name(index: usize) -> String {
    format!("s{index}")
}
