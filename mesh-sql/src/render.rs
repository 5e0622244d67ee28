//! The statement of all levels, and the indexes of columns in its rows.

use std::collections::{HashMap, HashSet};

use mesh_plan::Plan;
use sea_query::{Expr, Query, SelectStatement, UnionType};

use crate::class::Class;
use crate::custom::cast;
use crate::dialect::{ParamOf, ParamsOf};
use crate::layout::{Layout, ReadStatement};
use crate::levels::{Level, LevelDialect, Lowering};
use crate::order::order_by;
use crate::param::Param;
use crate::statement::Statement;

/// The number of cells with which each row begins if there are several levels.
const HEAD: usize = 3;

impl<C: Class> ReadStatement<Param<C>> {
    /// Lowers a plan to one statement.
    pub fn from_plan<D: LevelDialect<Class = C>>(plan: &Plan, dialect: &D) -> Self {
        let mut lowering = Lowering::new(plan, dialect);
        let mut layout = lowering.root(plan.node());
        // Breadth first, so that the number of a level is its position in the statement.
        while let Some(relation) = lowering.pending.pop_front() {
            let below = D::add_level(&mut lowering, &relation);
            let place =
                relation.path.iter().try_fold(&mut layout, |layout, index| layout.joins.get_mut(*index));
            if let Some(place) = place {
                *place = below;
            }
        }
        if plan.node().page.as_ref().is_some_and(|page| page.total) {
            layout.total = Some(lowering.total(plan.node()));
        }
        let levels = lowering.levels.len();
        let (statement, indexes) = statement(dialect, &lowering.params, lowering.levels);
        resolve_indexes(&mut layout, &indexes);
        let mut values = plan.cursor().unwrap_or_default().iter().chain(plan.inputs());
        let depends_on_values = values.any(|value| !D::Class::is_storable(value));
        let batch = D::batch(&statement, levels);
        Self { statement, levels, batch, layout, depends_on_values }
    }
}

/// Returns the statement, and a map from the number of each column to its index in a row.
fn statement<D: LevelDialect>(
    dialect: &D,
    params: &ParamsOf<'_, D>,
    mut levels: Vec<Level>,
) -> (Statement<ParamOf<D>>, HashMap<usize, usize>) {
    if let [only] = levels.as_mut_slice() {
        let indexes = only.shown.iter().enumerate().map(|(index, (number, ..))| (*number, index)).collect();
        return (params.render(&select_of::<D>(only), dialect.builder()), indexes);
    }
    let (slots, indexes) = slots(&levels);
    let mut selects = levels.iter().enumerate().map(|(number, level)| {
        let mut select = Query::select();
        select.exprs(D::head(number, level));
        for (slot, ty) in slots.iter().enumerate() {
            let here = level.shown.iter().find(|(number, ..)| indexes.get(number) == Some(&(slot + HEAD)));
            select.expr(here.map_or_else(|| cast(Expr::null(), ty), |(_, expr, _)| expr.clone()));
        }
        D::add_from(&mut select, &levels, number);
        select
    });
    let mut all = selects.next().unwrap_or_default();
    all.unions(selects.map(|select| (UnionType::All, select)));
    (params.render(&all.with(D::expressions(&levels)), dialect.builder()), indexes)
}

/// Takes the complete select of a level that is alone.
fn select_of<D: LevelDialect>(only: &mut Level) -> SelectStatement {
    if only.shown.is_empty() {
        only.select.expr(Expr::Constant(1.into()));
    }
    only.select.exprs(only.shown.drain(..).map(|(_, expr, _)| expr));
    let mut select = only.select.take();
    order_by(&mut select, D::order(only).iter().cloned());
    select
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

/// Replaces the numbers of columns with their indexes in a row.
fn resolve_indexes(layout: &mut Layout, indexes: &HashMap<usize, usize>) {
    let index = |number: Option<usize>| number.and_then(|number| indexes.get(&number).copied());
    layout.columns.iter_mut().for_each(|column| *column = index(*column));
    layout.presence = index(layout.presence);
    layout.total = layout.total.and_then(|(level, number)| Some((level, index(Some(number))?)));
    layout.joins.iter_mut().for_each(|join| resolve_indexes(join, indexes));
}
