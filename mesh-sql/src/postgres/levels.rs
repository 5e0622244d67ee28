//! Levels in PostgreSQL: the rows of each parent are read by a lateral join.

use std::sync::Arc;

use mesh_plan::Node;
use mesh_plan::plan::{ColumnSource, CompareOp, Join, Nesting, SortKey};
use mesh_schema::Link;
use sea_query::{
    Asterisk, CommonTableExpression, Expr, Func, JoinType, Query, SelectStatement, WindowStatement,
    WithClause,
};

use super::dialect::Postgres;
use super::type_class::TypeClass;
use super::{Operand, Param, batch};
use crate::alias::{
    PARENT_NUMBER, PARENTS, ROW_NUMBER, column, column_name, level_name, rows_alias, table_alias,
};
use crate::class::Class as _;
use crate::custom::{cast, operator};
use crate::dialect::Operands;
use crate::layout::Layout;
use crate::levels::{Level, LevelDialect, LevelRows, Lowering, ParentKey, PendingRelation, Position, Scope};
use crate::links::{JUNCTION, key_of_one, linked, linked_columns};
use crate::order::{SortTerm, order_by, sort_terms};
use crate::related::typed_placeholder;
use crate::statement::Statement;

/// Returns the number of the only row, or the column with the number of a row.
fn row_number(level: &Level, of_row: Expr) -> Expr {
    if is_one(level) { cast(Expr::Constant(1.into()), "int8") } else { of_row }
}

fn is_one(level: &Level) -> bool {
    matches!(level.rows, LevelRows::One)
}

impl LevelDialect for Postgres {
    const COUNT_TYPE: &'static str = "int8";
    const REPEATS_LEVELS: bool = false;

    fn may_join(join: &Join) -> bool {
        join.nesting == Nesting::Record
    }

    fn limit(
        &self,
        select: &mut SelectStatement,
        _node: &Node,
        operands: &Operands<'_, Self>,
        keys: &[SortKey],
        scope: &Scope,
    ) {
        order_by(select, sort_terms::<Self>(operands, keys));
        if let Scope::Any(Some(limit)) | Scope::First(Some(limit)) = scope {
            select.limit(*limit);
        }
    }

    fn root_rows(&self, node: &Node, alias: &str, columns: &[usize], is_point: bool) -> LevelRows {
        let operands = |source: &ColumnSource| {
            let index = node.columns.iter().position(|column| column.source == *source);
            let number = index.and_then(|index| columns.get(index).copied()).unwrap_or_default();
            let value = typed_placeholder(self, node, source);
            Operand { expr: column(alias, number), ..value }
        };
        if is_point {
            return LevelRows::One;
        }
        LevelRows::Ordered(sort_terms::<Self>(&operands, &node.order).collect())
    }

    fn add_joined<'p>(
        lowering: &mut Lowering<'p, Self>,
        join: &'p Join,
        parent: &'p Node,
        keys: &[usize],
        position: &Position<'_>,
    ) -> Layout {
        let node = &join.node;
        let (number, columns) = lowering.numbers(node);
        let (alias, table_alias) = (rows_alias(number), table_alias(number));
        let keys = keys.iter().map(|key| column(position.alias, *key));
        let linked = linked(lowering.dialect, parent, (&join.link, node), (&table_alias, JUNCTION), keys);
        // Without a limit, the database can choose the cheapest join, but that does not keep the order of the parents. Only the
        // rows of the root are sorted again, so the joins of other levels have a limit.
        let limit = (position.level > 0 || key_of_one(join).is_none()).then_some(1);
        let mut rows =
            lowering.rows(node, (number, &columns), Query::select(), vec![linked], &Scope::Any(limit));
        let compared = match &join.link {
            Link::Direct { pairs } => linked_columns(node, pairs).find(|index| node.needs(*index)),
            Link::Through { .. } => None,
        };
        let compared = compared.and_then(|index| columns.get(index).copied());
        let presence = compared.unwrap_or_else(|| {
            let number = lowering.next();
            let (expr, class) = match &join.link {
                Link::Direct { pairs } if !pairs.is_empty() => {
                    let target = pairs.first().map_or("", |pair| &pair.target);
                    let column = Expr::col((table_alias.clone(), target.to_owned()));
                    (column, TypeClass::of(node.native.get(target)))
                }
                _ => (Expr::Constant(true.into()), TypeClass::Boolean),
            };
            rows.expr_as(expr, column_name(number));
            lowering.show(position.level, number, &class);
            number
        });
        if let Some(level) = lowering.levels.get_mut(position.level) {
            level.select.join_lateral(JoinType::LeftJoin, rows, alias.clone(), on_true());
            level.sources.push(alias.clone());
        }
        lowering.add(node, &Position { alias: &alias, ..*position }, columns, Some(presence))
    }

    fn add_level<'p>(lowering: &mut Lowering<'p, Self>, relation: &PendingRelation<'p>) -> Layout {
        let PendingRelation { join, parent, level, key, path } = relation;
        let node = &join.node;
        let (number, columns) = lowering.numbers(node);
        let alias = rows_alias(number);
        let keys: Vec<Expr> = match key {
            ParentKey::Columns(keys) => keys.iter().map(|key| column(PARENTS, *key)).collect(),
            ParentKey::Id(id) => vec![id.clone()],
        };
        let place = (&*table_alias(number), JUNCTION);
        let linked = linked(lowering.dialect, parent, (&join.link, node), place, keys);
        let limit = Some(lowering.rows_per_parent(join, true));
        let rows = lowering.rows(node, (number, &columns), Query::select(), vec![linked], &Scope::Any(limit));
        let mut select = Query::select();
        match key {
            ParentKey::Columns(_) => {
                select.from_as(level_name(*level), PARENTS);
                select.join_lateral(JoinType::InnerJoin, rows, alias.clone(), on_true());
            }
            ParentKey::Id(_) => {
                select.from_subquery(rows, alias.clone());
            }
        }
        if let Some(shown) = lowering.shown_rows(*level) {
            select.and_where(operator(Expr::col((PARENTS, ROW_NUMBER)), CompareOp::Lte, None, shown));
        }
        // The rows of a single parent are bounded already.
        if !lowering.levels.get(*level).is_some_and(is_one) {
            select.limit(lowering.rows_max);
        }
        let here = lowering.push_level(node, Some(*level), &alias, select, LevelRows::Ordered(Vec::new()));
        lowering.add(node, &Position { level: here, alias: &alias, path }, columns, None)
    }

    fn order(level: &Level) -> &[SortTerm] {
        match &level.rows {
            LevelRows::Ordered(order) if level.sources.len() > 1 => order,
            _ => &[],
        }
    }

    fn head(number: usize, level: &Level) -> [Expr; 3] {
        let null = || cast(Expr::null(), "int8");
        let parent = if level.parent.is_some() { Expr::col(PARENT_NUMBER) } else { null() };
        let row = row_number(level, if level.has_children { Expr::col(ROW_NUMBER) } else { null() });
        [cast(Expr::Constant((number as i64).into()), "int2"), parent, row]
    }

    fn add_from(select: &mut SelectStatement, _levels: &[Level], number: usize) {
        select.from(level_name(number));
    }

    fn batch(statement: &Statement<Param>, levels: usize) -> Option<Arc<str>> {
        batch::statement(statement, levels)
    }

    fn expressions(levels: &[Level]) -> WithClause {
        let mut with = WithClause::new();
        for (number, level) in levels.iter().enumerate() {
            let mut select = level.select.clone();
            if level.has_children && !is_one(level) {
                let mut window = WindowStatement::new();
                order_by(&mut window, Self::order(level).iter().cloned());
                select.expr_window_as(Func::cust("pg_catalog.row_number"), window, ROW_NUMBER);
            }
            if let Some(parents) = level.parent.and_then(|parent| levels.get(parent)) {
                select.expr_as(row_number(parents, Expr::col((PARENTS, ROW_NUMBER))), PARENT_NUMBER);
            }
            select.exprs(level.sources.iter().map(|source| Expr::col((source.clone(), Asterisk))));
            order_by(&mut select, Self::order(level).iter().cloned());
            let mut expression = CommonTableExpression::new();
            expression.table_name(level_name(number)).query(select);
            // Other levels refer to it.
            if level.has_children {
                expression.materialized(true);
            }
            with.cte(expression);
        }
        with
    }
}

fn on_true() -> Expr {
    Expr::Constant(true.into())
}
