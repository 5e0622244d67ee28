//! Values that were read, given back in conditions and written. `SPEC §3.7`

use super::engine::Operators;
use super::sites::{ReadValue, Site, Tables};

/// Checks conditions on the values of a type, and writes of the values.
pub(super) fn check(site: &mut Site<'_>, tables: &Tables<'_>) {
    let ty = tables.ty;
    let records = site.records(&tables.cells);
    if records.len() != tables.count {
        site.faults.push(format!("{}: {} of {} records are read", ty.declared, records.len(), tables.count));
    }
    let nulls = records.iter().filter(|(_, value)| value.is_null()).count();
    if nulls != 2 && !ty.reads_null {
        site.faults.push(format!("{}: {nulls} values are read as null, not 2", ty.declared));
    }
    // The second half repeats the values of the first.
    for (number, value) in records.iter().take(records.len() / 2).filter(|(_, value)| !value.is_null()) {
        conditions(site, tables, *number, value);
    }
    let before = site.stored("cells", tables);
    for (number, value) in records.iter().filter(|(_, value)| !value.is_null()) {
        let (path, body) = (format!("/{}/{number}", tables.cells), format!(r#"{{"v":{}}}"#, value.json));
        let reply = site.write("PUT", &path, &body);
        if reply.status != 200 || !reply.text().contains(&body[1..body.len() - 1]) {
            site.fault(ty, &format!("written as read, {body}"), &reply);
        }
    }
    let after = site.stored("cells", tables);
    if before != after {
        site.faults.push(format!("{}: a write changed a value:\n{before}\n{after}", ty.declared));
    }
}

/// Checks that conditions with a value find its record, or are refused if the field takes none.
fn conditions(site: &mut Site<'_>, tables: &Tables<'_>, number: u64, value: &ReadValue) {
    let (ty, json) = (tables.ty, &value.json);
    let leaf = |op: &str, value: &str| format!(r#"{{"field":"v","op":"{op}","value":{value}}}"#);
    let list = format!("[{json},{json}]");
    let (is_equal, is_ordered) = (ty.operators != Operators::None, ty.operators == Operators::All);
    let equal = [leaf("eq", json), leaf("in", &list)].map(|it| (it, is_equal));
    let unequal = [leaf("ne", json), leaf("nin", &list)].map(|it| (it, is_equal));
    let bounds = ["gte", "lte"].map(|op| (leaf(op, json), is_ordered));
    let outside = ["gt", "lt"].map(|op| (leaf(op, json), is_ordered));
    let (found, refused): (Vec<_>, Vec<_>) =
        equal.into_iter().chain(bounds).partition(|(_, offered)| *offered);
    let (other, also): (Vec<_>, Vec<_>) =
        unequal.into_iter().chain(outside).partition(|(_, offered)| *offered);
    let joined = |list: &[(String, bool)]| {
        list.iter().map(|(condition, _)| condition.as_str()).collect::<Vec<_>>().join(",")
    };
    if !found.is_empty() {
        finds(site, tables, number, &format!(r#"{{"and":[{}]}}"#, joined(&found)), Some(true));
        finds(site, tables, number, &format!(r#"{{"or":[{}]}}"#, joined(&other)), Some(false));
    }
    for (condition, _) in refused.iter().chain(&also) {
        finds(site, tables, number, condition, None);
    }
    if ty.operators == Operators::None {
        return;
    }
    let (cells, param) = (&tables.cells, leaf("eq", r#"{"$param":"p"}"#));
    let query =
        format!(r#"{{"{cells}":{{"$select":{{"n":true}},"$where":{param},"$page":{{"first":200}}}}}}"#);
    let reply = site.get_with(&format!("/{cells}"), &query, &format!(r#"{{"p":{json}}}"#));
    if !has(&reply.text(), number) {
        site.fault(ty, &format!("the parameter {json}"), &reply);
    }
}

/// Checks whether a condition finds the record; `None` if it is refused.
fn finds(site: &mut Site<'_>, tables: &Tables<'_>, number: u64, condition: &str, expected: Option<bool>) {
    let cells = &tables.cells;
    let query =
        format!(r#"{{"{cells}":{{"$select":{{"n":true}},"$where":{condition},"$page":{{"first":200}}}}}}"#);
    let reply = site.get(&format!("/{cells}"), &query);
    let found = (reply.status == 200).then(|| has(&reply.text(), number));
    if found != expected || ![200, 400].contains(&reply.status) {
        let what = match expected {
            None => "is not refused",
            Some(true) => "does not find its record",
            Some(false) => "finds the record",
        };
        site.fault(tables.ty, &format!("{condition} {what}"), &reply);
    }
}

/// Returns whether a reply contains the record with that number.
fn has(reply: &str, number: u64) -> bool {
    reply.contains(&format!(r#"{{"n":{number}}}"#))
}
