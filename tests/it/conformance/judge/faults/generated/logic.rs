//! Faults of single operators and functions: NULL as a value, one operator in place of another, rounded numbers.

use mesh_tests::kit::http::Request;
use serde_json::{Map, Value, json};

use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_filters, edit_root};

/// The operators that compare with a value.
const OPERATORS: [&str; 10] = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "ilike"];

/// Operators and functions, each with one that is easily mistaken for it.
const MISTAKEN: [(&str, &str, &str); 22] = [
    ("op", "gt", "gte"),
    ("op", "gte", "gt"),
    ("op", "lt", "lte"),
    ("op", "lte", "lt"),
    ("op", "eq", "gte"),
    ("op", "ne", "gt"),
    ("op", "in", "nin"),
    ("op", "nin", "in"),
    ("op", "isNull", "isNotNull"),
    ("op", "isNotNull", "isNull"),
    ("op", "some", "none"),
    ("op", "none", "some"),
    ("op", "every", "some"),
    ("op", "some", "every"),
    ("fn", "min", "max"),
    ("fn", "max", "min"),
    ("fn", "sum", "max"),
    ("fn", "avg", "min"),
    ("fn", "count", "max"),
    ("direction", "asc", "desc"),
    ("direction", "desc", "asc"),
    ("nulls", "first", "last"),
];

/// The name of a fault, and a function that changes a pattern.
type Change = (&'static str, fn(&str) -> String);

/// Ways to change a pattern.
const PATTERNS: &[Change] = &[
    ("patterns may begin anywhere", |pattern| format!("%{pattern}")),
    ("patterns may end anywhere", |pattern| format!("{pattern}%")),
    ("an underscore is itself", |pattern| pattern.replace('_', "\\_")),
    ("an underscore is any text", |pattern| pattern.replace('_', "%")),
    ("a percent sign is at least one character", |pattern| pattern.replace('%', "_%")),
];

pub(super) fn faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for op in OPERATORS {
        faults.push(of_filters(format!("NULL satisfies {op}"), move |filter| {
            if filter["op"] == op && filter.get("value").is_some_and(is_literal) {
                let unset = null_of(filter);
                *filter = json!({"or": [filter.take(), unset]});
            }
        }));
        faults.push(of_filters(format!("NULL satisfies the opposite of {op}"), move |filter| {
            let inner = filter.get("not").filter(|inner| inner["op"] == op && is_literal(&inner["value"]));
            if let Some(unset) = inner.map(null_of) {
                *filter = json!({"or": [filter.take(), unset]});
            }
        }));
    }
    for (name, edit) in PATTERNS {
        faults.push(of_filters((*name).to_owned(), move |filter| {
            let is_pattern = filter["op"] == "like" || filter["op"] == "ilike";
            if let Some(pattern) = filter["value"].as_str().filter(|_| is_pattern).map(edit) {
                filter["value"] = pattern.into();
            }
        }));
    }
    faults.push(of_filters("equality ignores case".to_owned(), |filter| {
        if filter["op"] == "eq"
            && filter["value"].as_str().is_some_and(|text| text.chars().all(char::is_alphabetic))
        {
            filter["op"] = "ilike".into();
        }
    }));
    faults.push(of_filters("numbers above 2^53 are rounded in filters".to_owned(), |filter| {
        if let Some(value) = filter.get_mut("value") {
            round(value);
        }
    }));
    for combinator in ["and", "or"] {
        faults.push(of_filters(format!("only the first member of {combinator} counts"), move |filter| {
            if let Some(all) = filter.get_mut(combinator).and_then(Value::as_array_mut) {
                all.truncate(1);
            }
        }));
    }
    for (member, right, wrong) in MISTAKEN {
        faults.push(of_roots(format!("{member} {right} means {wrong}"), move |root| {
            root.iter_mut().filter(|(name, _)| *name != "$select").for_each(|(_, control)| {
                swap(control, member, right, wrong);
            });
        }));
    }
    let ignored = |name: &str, edit: fn(&mut Map<String, Value>)| of_roots(name.to_owned(), edit);
    faults.extend([
        ignored("distinct has no effect in aggregates", |root| {
            for aggregate in members(root, "$aggregate") {
                aggregate.remove("distinct");
            }
        }),
        ignored("count of a field counts NULL too", |root| {
            for aggregate in members(root, "$aggregate").filter(|one| one.get("fn") == Some(&"count".into()))
            {
                if !aggregate.contains_key("distinct") {
                    aggregate.remove("field");
                }
            }
        }),
        ignored("only the first group key counts", |root| shorten(root, "$groupBy")),
        ignored("only the first distinct field counts", |root| shorten(root, "$distinct")),
        ignored("only the first key of an order counts", |root| shorten(root, "$orderBy")),
        ignored("pages are one too long", |root| {
            page(root, |first| if first < 200 { first + 1 } else { first })
        }),
        ignored("pages are one too short", |root| page(root, |first| (first - 1).max(1))),
        ignored("every page is the first", |root| {
            if let Some(page) = root.get_mut("$page").and_then(Value::as_object_mut) {
                page.remove("after");
            }
        }),
    ]);
    faults
}

fn of_filters(name: String, edit: impl Fn(&mut Value) + Sync + Copy + 'static) -> Fault {
    Fault {
        name: name.leak(),
        on_request: Box::leak(Box::new(move |request: &mut Request, _: &_| {
            edit_filters(request, edit);
            None
        })),
        ..NO_FAULT
    }
}

fn of_roots(name: String, edit: impl Fn(&mut Map<String, Value>) + Sync + 'static) -> Fault {
    Fault {
        name: name.leak(),
        on_request: Box::leak(Box::new(move |request: &mut Request, _: &_| {
            edit_root(request, &edit);
            None
        })),
        ..NO_FAULT
    }
}

/// Returns whether a value is a valid operand of a comparison. Other values are not changed, so they stay refused.
fn is_literal(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_literal),
        Value::Null | Value::Object(_) => false,
        _ => true,
    }
}

fn null_of(leaf: &Value) -> Value {
    match leaf.get("aggregate") {
        Some(alias) => json!({"aggregate": alias, "op": "isNull"}),
        None => json!({"field": leaf["field"], "op": "isNull"}),
    }
}

fn round(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Number(number) => {
            if let Some(exact) = number.as_i64().filter(|exact| exact.unsigned_abs() > 1 << 53) {
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    reason = "this is the fault"
                )]
                let rounded = exact as f64 as i64;
                *value = rounded.into();
            }
        }
        _ => {}
    }
}

fn swap(value: &mut Value, member: &str, right: &str, wrong: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| swap(item, member, right, wrong)),
        Value::Object(members) => {
            for (name, value) in members {
                if name == member && *value == right {
                    *value = wrong.into();
                } else {
                    swap(value, member, right, wrong);
                }
            }
        }
        _ => {}
    }
}

fn members<'n>(
    node: &'n mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'n mut Map<String, Value>> {
    let members = node.get_mut(name).and_then(Value::as_object_mut);
    members.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
}

fn shorten(node: &mut Map<String, Value>, name: &str) {
    if let Some(list) = node.get_mut(name).and_then(Value::as_array_mut) {
        list.truncate(1);
    }
}

fn page(node: &mut Map<String, Value>, change: impl Fn(i64) -> i64) {
    if let Some(page) = node.get_mut("$page")
        && let Some(first) = page["first"].as_i64().filter(|first| (1..=200).contains(first))
    {
        page["first"] = change(first).into();
    }
}
