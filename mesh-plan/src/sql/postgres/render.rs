//! How do levels become one statement, and where does everything stand in its rows?

use std::collections::HashMap;

use super::Part;
use crate::plan::Node;

/// The places that each row begins with where there are several levels.
const HEAD: usize = 3;

/// A common table expression in the making.
#[derive(Default)]
pub(super) struct Level {
    /// What follows `FROM`.
    pub(super) from: String,
    /// What follows that.
    pub(super) rest: String,
    /// The level whose rows are the parents.
    pub(super) parent: Option<usize>,
    /// The aliases of the subqueries whose columns it has.
    pub(super) parts: Vec<String>,
    pub(super) has_children: bool,
    /// Whether there is one row at most.
    pub(super) is_one: bool,
    /// The columns that the response needs: number, expression and type.
    pub(super) shown: Vec<(usize, String, &'static str)>,
    pub(super) order: String,
}

/// The statement, and the place in its rows of each column's number.
pub(super) fn statement(levels: &[Level]) -> (String, HashMap<usize, usize>) {
    let mut places = HashMap::new();
    let sql = match levels {
        [only] => {
            let shown: Vec<_> = only.shown.iter().map(|(_, sql, _)| sql.as_str()).collect();
            places.extend(only.shown.iter().enumerate().map(|(place, (number, ..))| (*number, place)));
            let list = if shown.is_empty() { "1".to_owned() } else { shown.join(", ") };
            format!("SELECT {list} FROM {}{}", only.from, only.order)
        }
        _ => all_levels(levels, &mut places),
    };
    (sql, places)
}

/// Levels that others refer to are kept by the database while the statement runs; the others it need not keep.
fn all_levels(levels: &[Level], places: &mut HashMap<usize, usize>) -> String {
    let mut slots: Vec<&str> = Vec::new();
    for level in levels {
        let mut taken = vec![false; slots.len()];
        for (number, _, ty) in &level.shown {
            let free = slots.iter().zip(&taken).position(|(slot, taken)| slot == ty && !taken);
            let slot = free.unwrap_or_else(|| {
                slots.push(ty);
                taken.push(false);
                slots.len() - 1
            });
            if let Some(taken) = taken.get_mut(slot) {
                *taken = true;
            }
            places.insert(*number, slot + HEAD);
        }
    }
    let mut ctes = Vec::with_capacity(levels.len());
    let mut selects = Vec::with_capacity(levels.len());
    for (number, level) in levels.iter().enumerate() {
        let mut list = Vec::new();
        if level.has_children && !level.is_one {
            list.push(format!("row_number() OVER ({}) AS \"o\"", level.order.trim_start()));
        }
        if let Some(parent) = level.parent {
            let is_one = levels.get(parent).is_some_and(|parent| parent.is_one);
            list.push(if is_one { "1::int8 AS \"p\"" } else { "\"h\".\"o\" AS \"p\"" }.to_owned());
        }
        list.extend(level.parts.iter().map(|part| format!("{part}.*")));
        let kept = if level.has_children { "MATERIALIZED " } else { "" };
        ctes.push(format!(
            "\"n{number}\" AS {kept}(SELECT {} FROM {}{}{})",
            list.join(", "),
            level.from,
            level.rest,
            level.order
        ));
        let own = match level {
            Level { is_one: true, .. } => "1::int8",
            Level { has_children: true, .. } => "\"o\"",
            _ => "NULL::int8",
        };
        let parent = if level.parent.is_some() { "\"p\"" } else { "NULL::int8" };
        let mut list = vec![format!("{number}::int2"), parent.to_owned(), own.to_owned()];
        list.extend(slots.iter().enumerate().map(|(slot, ty)| {
            let here = |(number, ..): &&(usize, String, &str)| places.get(number) == Some(&(slot + HEAD));
            level.shown.iter().find(here).map_or_else(|| format!("NULL::{ty}"), |(_, sql, _)| sql.clone())
        }));
        selects.push(format!("SELECT {} FROM \"n{number}\"", list.join(", ")));
    }
    format!("WITH {} {}", ctes.join(", "), selects.join(" UNION ALL "))
}

/// Turns the numbers of columns into places of the row.
pub(super) fn settle(part: &mut Part, node: &Node, places: &HashMap<usize, usize>) {
    let place = |number: Option<usize>| number.and_then(|number| places.get(&number).copied());
    part.columns.iter_mut().for_each(|column| *column = place(*column));
    part.found = place(part.found);
    for (part, join) in part.joins.iter_mut().zip(&node.joins) {
        settle(part, &join.node, places);
    }
}
