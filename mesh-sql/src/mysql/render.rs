//! The statement of all levels, and the indexes of columns in its rows.

use std::collections::{HashMap, HashSet};

use sea_query::{
    Asterisk, CommonTableExpression, Expr, ExprTrait as _, Func, MysqlQueryBuilder, Order, Query,
    SelectStatement, UnionType, WindowStatement, WithClause,
};

use super::Param;
use crate::custom::cast;
use crate::join_room::JoinRoom;
use crate::layout::Layout;
use crate::order::{SortTerm, order_by};
use crate::statement::{Params, Statement};

/// The maximum number of levels that are common table expressions. The database allows 64. The statements of further levels are
/// repeated where their rows are needed.
const EXPRESSIONS_MAX: usize = 60;
/// The number of cells with which each row begins if there are several levels.
const HEAD: usize = 3;
/// The alias of the level of the parents.
pub(super) const PARENTS: &str = "h";
/// The column with the number of a row within its level.
pub(super) const ROW_NUMBER: &str = "o";
/// The column with the number of a row among those of its parent.
pub(super) const ROW_IN_PARENT: &str = "r";
/// The column with the number of the parent's row.
pub(super) const PARENT_NUMBER: &str = "p";

/// The rows of a level.
#[derive(Clone)]
pub(super) enum LevelRows {
    /// At most one row.
    One,
    /// Rows in this order.
    Ordered(Vec<SortTerm>),
    /// The rows of the only parent, in this order.
    SingleParent(Vec<SortTerm>),
    /// The rows of several parents, with the numbers of the row and of its parent: the first `per_parent` rows of each parent,
    /// and at most `rows_max` rows of all parents.
    SeveralParents { per_parent: Expr, rows_max: u64 },
}

/// A level under construction.
#[derive(Clone)]
pub(super) struct Level {
    /// Everything but the select list and the order.
    pub(super) select: SelectStatement,
    pub(super) rows: LevelRows,
    /// The level whose rows are the parents.
    pub(super) parent: Option<usize>,
    /// The aliases of the subqueries that it takes columns from. The first one has the rows.
    pub(super) parts: Vec<String>,
    pub(super) has_children: bool,
    pub(super) room: JoinRoom,
    /// The number of tables that its statement reads, without those of its parents.
    pub(super) tables: usize,
    /// The columns that the response needs: number, expression and type.
    pub(super) shown: Vec<(usize, Expr, &'static str)>,
}

impl Level {
    pub(super) fn new(rows: SelectStatement, part: String, kind: LevelRows) -> Self {
        let select = Query::select().from_subquery(rows, part.clone()).take();
        let (parts, shown, room) = (vec![part], Vec::new(), JoinRoom::default());
        Self { select, rows: kind, parent: None, parts, has_children: false, room, tables: 1, shown }
    }

    /// Returns the number of a row, which orders the rows of a parent.
    fn number(&self) -> Expr {
        match &self.rows {
            LevelRows::SeveralParents { .. } if !self.has_children => Expr::col(ROW_IN_PARENT),
            LevelRows::One
            | LevelRows::Ordered(_)
            | LevelRows::SingleParent(_)
            | LevelRows::SeveralParents { .. } => Expr::col(ROW_NUMBER),
        }
    }
}

/// Returns the number of tables that the statement of all levels reads. MariaDB evaluates the parents of a level anew for it.
pub(super) fn tables_read(levels: &[Level]) -> usize {
    let mut all = Vec::with_capacity(levels.len());
    for level in levels {
        let parents: usize = level.parent.and_then(|parent| all.get(parent).copied()).unwrap_or_default();
        all.push(level.tables + parents);
    }
    all.iter().sum()
}

fn level_name(number: usize) -> String {
    format!("n{number}")
}

/// Adds the rows of a level to the `FROM` clause of a statement.
pub(super) fn add_from(select: &mut SelectStatement, levels: &[Level], number: usize, alias: &str) {
    match levels.get(number).filter(|_| number >= EXPRESSIONS_MAX) {
        Some(level) => select.from_subquery(select_of(level), alias.to_owned()),
        None => select.from_as(level_name(number), alias.to_owned()),
    };
}

/// Returns the statement, and a map from the number of each column to its index in a row.
pub(super) fn statement(
    params: &Params<Param>,
    mut levels: Vec<Level>,
) -> (Statement<Param>, HashMap<usize, usize>) {
    if let [only] = levels.as_mut_slice() {
        let indexes = only.shown.iter().enumerate().map(|(index, (number, ..))| (*number, index)).collect();
        if only.shown.is_empty() {
            only.select.expr(Expr::Constant(1.into()));
        }
        only.select.exprs(only.shown.drain(..).map(|(_, expr, _)| expr));
        if let LevelRows::Ordered(order) | LevelRows::SingleParent(order) = &only.rows {
            order_by(&mut only.select, order.iter().cloned());
        }
        return (params.render(&only.select, MysqlQueryBuilder), indexes);
    }
    let (slots, indexes) = slots(&levels);
    let selects = (0..levels.len()).filter_map(|number| rows_of(number, &levels, &slots, &indexes));
    let mut selects: Vec<SelectStatement> = selects.collect();
    let mut all = selects.remove(0);
    all.unions(selects.into_iter().map(|select| (UnionType::All, select)));
    let mut with = WithClause::new();
    for (number, level) in levels.iter().enumerate().take(EXPRESSIONS_MAX) {
        with.cte(
            CommonTableExpression::new().table_name(level_name(number)).query(select_of(level)).to_owned(),
        );
    }
    (params.render(&all.with(with), MysqlQueryBuilder), indexes)
}

/// Returns the types of the cells after the head of each row, which levels share, and a map from the number of each column to
/// its index.
fn slots(levels: &[Level]) -> (Vec<&'static str>, HashMap<usize, usize>) {
    let mut slots: Vec<&'static str> = Vec::new();
    let mut indexes = HashMap::new();
    for level in levels {
        let mut taken = HashSet::new();
        for (number, _, ty) in &level.shown {
            let is_free = |(slot, known): &(usize, &&str)| *known == ty && !taken.contains(slot);
            let slot = slots.iter().enumerate().find(is_free).map_or(slots.len(), |(slot, _)| slot);
            if slot == slots.len() {
                slots.push(ty);
            }
            taken.insert(slot);
            indexes.insert(*number, slot + HEAD);
        }
    }
    (slots, indexes)
}

/// Returns the select that reads the rows of a level for the response.
fn rows_of(
    number: usize,
    levels: &[Level],
    slots: &[&'static str],
    indexes: &HashMap<usize, usize>,
) -> Option<SelectStatement> {
    let level = levels.get(number)?;
    let null = |ty: &str| cast(Expr::null(), ty);
    let parent = if level.parent.is_some() { Expr::col(PARENT_NUMBER) } else { null("SIGNED") };
    let mut select = Query::select();
    select.expr(Expr::Constant((number as i64).into())).expr(parent).expr(level.number());
    for (slot, ty) in slots.iter().enumerate() {
        let here = level.shown.iter().find(|(number, ..)| indexes.get(number) == Some(&(slot + HEAD)));
        select.expr(here.map_or_else(|| null(ty), |(_, expr, _)| expr.clone()));
    }
    add_from(&mut select, levels, number, &level_name(number));
    Some(select)
}

/// Returns the statement of a level.
fn select_of(level: &Level) -> SelectStatement {
    let Level { mut select, rows, parts, has_children, .. } = level.clone();
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
        LevelRows::SeveralParents { per_parent, rows_max } => {
            let part = parts.first().cloned().unwrap_or_default();
            let column = |name: &'static str| Expr::col((part.clone(), name));
            select.and_where(column(ROW_IN_PARENT).lte(per_parent));
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
    select.exprs(parts.into_iter().map(|part| Expr::col((part, Asterisk))));
    select
}

/// Replaces the numbers of columns with their indexes in a row.
pub(super) fn resolve_indexes(layout: &mut Layout, indexes: &HashMap<usize, usize>) {
    let index = |number: Option<usize>| number.and_then(|number| indexes.get(&number).copied());
    layout.columns.iter_mut().for_each(|column| *column = index(*column));
    layout.presence = index(layout.presence);
    layout.total = layout.total.and_then(|(level, number)| Some((level, index(Some(number))?)));
    layout.joins.iter_mut().for_each(|join| resolve_indexes(join, indexes));
}
