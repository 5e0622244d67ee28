//! Walks over pages. `SPEC §5.4`

use serde_json::Value;

use super::sites::{Site, Tables};
use crate::support::dice::Dice;

/// Checks walks over the records of a type in a random choice of orders, and over its groups.
pub(super) fn check(site: &mut Site<'_>, tables: &Tables<'_>, dice: &mut Dice) {
    let ty = tables.ty;
    let mut orders = Vec::new();
    for direction in ["asc", "desc"] {
        for nulls in ["first", "last"] {
            orders
                .push(format!(r#""$orderBy":[{{"field":"v","direction":"{direction}","nulls":"{nulls}"}}]"#));
        }
    }
    let select = r#""$select":{"n":true}"#;
    let cells = &tables.cells;
    if !ty.has_order {
        for control in orders.iter().map(String::as_str).chain([r#""$distinct":["v"]"#]) {
            let select = if control.contains("distinct") { r#""$select":{"v":true}"# } else { select };
            let reply = site.get(&format!("/{cells}"), &format!(r#"{{"{cells}":{{{select},{control}}}}}"#));
            if reply.status != 400 {
                site.fault(ty, &format!("{control} is not refused"), &reply);
            }
        }
        return;
    }
    let all = site.records(cells);
    let mut expected: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    expected.sort_unstable();
    for order in &orders {
        // A page of one record stops at each value; which direction it is walked in is left to chance.
        let (first, is_backward) = (if dice.chance(50) { 1 } else { 3 }, dice.chance(50));
        let visited = walk(site, tables, cells, &format!("{select},{order}"), first, is_backward);
        let mut numbers: Vec<u64> = visited.iter().filter_map(|item| item["n"].as_u64()).collect();
        numbers.sort_unstable();
        if numbers != expected {
            let what = format!("{order}, pages of {first}, backward {is_backward}: visits {numbers:?}");
            site.faults.push(format!("{}: {what}", ty.declared));
        }
    }
    if let Some(keys) = &tables.keys {
        let expected = site.records(keys).len();
        for is_backward in [false, true] {
            let visited = walk(site, tables, keys, select, 1 + dice.below(3), is_backward);
            let mut numbers: Vec<u64> = visited.iter().filter_map(|item| item["n"].as_u64()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            if visited.len() != expected || numbers.len() != expected {
                site.faults
                    .push(format!("{}: by key, backward {is_backward}: visits {numbers:?}", ty.declared));
            }
        }
    }
    groups(site, tables, expected.len());
}

/// Checks walks over groups and distinct values.
fn groups(site: &mut Site<'_>, tables: &Tables<'_>, records: usize) {
    let (ty, cells) = (tables.ty, &tables.cells);
    let counted = r#""$select":{"v":true},"$groupBy":["v"],"$aggregate":{"count":{"fn":"count"}}"#;
    let mut found = Vec::new();
    for (control, first, is_backward) in
        [(counted, 1, false), (counted, 3, true), (r#""$select":{"v":true},"$distinct":["v"]"#, 1, true)]
    {
        let visited = walk(site, tables, cells, control, first, is_backward);
        found.push(visited.len());
        let sum: u64 = visited.iter().filter_map(|item| item["count"].as_u64()).sum();
        if control == counted && sum != records as u64 {
            site.faults.push(format!("{}: groups have {sum} of {records} records: {visited:?}", ty.declared));
        }
    }
    if found.windows(2).any(|pair| pair[0] != pair[1]) {
        site.faults.push(format!("{}: walks visit {found:?} groups", ty.declared));
    }
}

/// Follows the pages of a query, and returns all items. Ends with a fault if the walk does not end in time.
fn walk(
    site: &mut Site<'_>,
    tables: &Tables<'_>,
    entity: &str,
    controls: &str,
    size: usize,
    is_backward: bool,
) -> Vec<Value> {
    let (count, from, more, cursor) = if is_backward {
        ("last", "before", "hasPreviousPage", "startCursor")
    } else {
        ("first", "after", "hasNextPage", "endCursor")
    };
    let (mut all, mut place) = (Vec::new(), Value::Null);
    for _ in 0..=tables.count {
        let page = format!(r#""$page":{{"{count}":{size},"{from}":{place}}}"#);
        let reply = site.get(&format!("/{entity}"), &format!(r#"{{"{entity}":{{{controls},{page}}}}}"#));
        if reply.status != 200 {
            site.fault(tables.ty, &format!("{controls}, pages of {size}, backward {is_backward}"), &reply);
            return all;
        }
        let body = reply.json();
        all.extend(body["items"].as_array().unwrap().iter().cloned());
        if body["pageInfo"][more] == false {
            return all;
        }
        place = body["pageInfo"][cursor].clone();
    }
    site.faults
        .push(format!("{}: {controls}, pages of {size}, backward {is_backward}: no end", tables.ty.declared));
    all
}
