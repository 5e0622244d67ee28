//! The statement of all levels, and the indexes of columns in its rows.

use std::collections::{HashMap, HashSet};

use sea_query::{
    Asterisk, CommonTableExpression, Expr, Func, PostgresQueryBuilder, Query, SelectStatement, UnionType,
    WindowStatement, WithClause,
};

use super::Param;
use crate::custom::cast;
use crate::join_room::JoinRoom;
use crate::layout::Layout;
use crate::order::{SortTerm, order_by};
use crate::statement::{Params, Statement};

/// The number of cells with which each row begins if there are several levels.
const HEAD: usize = 3;
/// The alias of the level of the parents.
pub(super) const PARENTS: &str = "h";
/// The column with the number of a row within its level.
pub(super) const ROW_NUMBER: &str = "o";
/// The column with the number of the parent's row.
const PARENT_NUMBER: &str = "p";

/// A common table expression under construction.
#[derive(Default)]
pub(super) struct Level {
    /// Everything but the select list and the order.
    pub(super) select: SelectStatement,
    /// The level whose rows are the parents.
    pub(super) parent: Option<usize>,
    /// The aliases of the subqueries that it takes columns from.
    pub(super) parts: Vec<String>,
    pub(super) room: JoinRoom,
    pub(super) has_children: bool,
    /// Whether there is at most one row.
    pub(super) is_one: bool,
    /// The columns that the response needs: number, expression and type.
    pub(super) shown: Vec<(usize, Expr, &'static str)>,
    pub(super) order: Vec<SortTerm>,
}

impl Level {
    pub(super) fn new(select: SelectStatement, part: String) -> Self {
        Self { select, parts: vec![part], ..Self::default() }
    }
}

/// Returns the name of a level.
pub(super) fn level_name(number: usize) -> String {
    format!("n{number}")
}

/// Returns the statement, and a map from the number of each column to its index in a row.
pub(super) fn statement(
    params: &Params<Param>,
    mut levels: Vec<Level>,
) -> (Statement<Param>, HashMap<usize, usize>) {
    if let [only] = levels.as_mut_slice() {
        let indexes = only.shown.iter().enumerate().map(|(index, (number, ..))| (*number, index)).collect();
        return (params.render(&select_of(only), PostgresQueryBuilder), indexes);
    }
    let (slots, indexes) = slots(&levels);
    let selects = levels.iter().enumerate().map(|(number, level)| rows_of(number, level, &slots, &indexes));
    let mut selects: Vec<SelectStatement> = selects.collect();
    let mut all = selects.remove(0);
    all.unions(selects.into_iter().map(|select| (UnionType::All, select)));
    let parents: Vec<bool> = levels.iter().map(|level| level.is_one).collect();
    let mut with = WithClause::new();
    for (number, level) in levels.into_iter().enumerate() {
        with.cte(expression_of(number, level, &parents));
    }
    (params.render(&all.with(with), PostgresQueryBuilder), indexes)
}

/// Takes the complete select of a level that is alone.
pub(super) fn select_of(only: &mut Level) -> SelectStatement {
    if only.shown.is_empty() {
        only.select.expr(Expr::Constant(1.into()));
    }
    only.select.exprs(only.shown.drain(..).map(|(_, expr, _)| expr));
    order_by(&mut only.select, std::mem::take(&mut only.order));
    only.select.take()
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
    level: &Level,
    slots: &[&'static str],
    indexes: &HashMap<usize, usize>,
) -> SelectStatement {
    let null = |ty: &str| cast(Expr::null(), ty);
    let number_in_level = match level {
        Level { is_one: true, .. } => first_number(),
        Level { has_children: true, .. } => Expr::col(ROW_NUMBER),
        _ => null("int8"),
    };
    let parent = if level.parent.is_some() { Expr::col(PARENT_NUMBER) } else { null("int8") };
    let mut select = Query::select();
    select.expr(cast(Expr::Constant((number as i64).into()), "int2")).expr(parent).expr(number_in_level);
    for (slot, ty) in slots.iter().enumerate() {
        let here = level.shown.iter().find(|(number, ..)| indexes.get(number) == Some(&(slot + HEAD)));
        select.expr(here.map_or_else(|| null(ty), |(_, expr, _)| expr.clone()));
    }
    select.from(level_name(number)).take()
}

/// Returns the common table expression of a level. It is materialized if other levels refer to it.
fn expression_of(number: usize, level: Level, is_one: &[bool]) -> CommonTableExpression {
    let Level { mut select, parent, parts, has_children, order, .. } = level;
    if has_children && is_one.get(number) != Some(&true) {
        let mut window = WindowStatement::new();
        order_by(&mut window, order.iter().cloned());
        select.expr_window_as(Func::cust("pg_catalog.row_number"), window, ROW_NUMBER);
    }
    if let Some(parent) = parent {
        let number = match is_one.get(parent) {
            Some(true) => first_number(),
            _ => Expr::col((PARENTS, ROW_NUMBER)),
        };
        select.expr_as(number, PARENT_NUMBER);
    }
    select.exprs(parts.into_iter().map(|part| Expr::col((part, Asterisk))));
    order_by(&mut select, order);
    let mut expression = CommonTableExpression::new();
    expression.table_name(level_name(number)).query(select);
    if has_children {
        expression.materialized(true);
    }
    expression
}

/// Returns the number of the only row of a level.
fn first_number() -> Expr {
    cast(Expr::Constant(1.into()), "int8")
}

/// Replaces the numbers of columns with their indexes in a row.
pub(super) fn resolve_indexes(layout: &mut Layout, indexes: &HashMap<usize, usize>) {
    let index = |number: Option<usize>| number.and_then(|number| indexes.get(&number).copied());
    layout.columns.iter_mut().for_each(|column| *column = index(*column));
    layout.presence = index(layout.presence);
    layout.total = layout.total.and_then(|(level, number)| Some((level, index(Some(number))?)));
    layout.joins.iter_mut().for_each(|join| resolve_indexes(join, indexes));
}
