//! Values as ids and as foreign keys, and the replies of writes. `SPEC §11, §18`

use super::sites::{ReadValue, References, Site, Tables};

/// Checks the entities whose key has a type.
pub(super) fn check(site: &mut Site<'_>, tables: &Tables<'_>) {
    let Some(keys) = &tables.keys else { return };
    let records: Vec<_> = site.records(keys).into_iter().filter(|(_, value)| !value.is_null()).collect();
    let before = ["keys", "refs", "pairs"].map(|table| stored(site, tables, table));
    for (number, value) in &records {
        // No URL carries these ids.
        if ["", ".", ".."].contains(&value.id().as_str()) {
            posted(site, tables, keys, *number, value);
            continue;
        }
        points(site, tables, keys, *number, value);
        if let Some(references) = &tables.references {
            refers(site, tables, keys, references, *number, value);
        }
        again(site, tables, keys, *number, value);
        if let Some(pairs) = &tables.pairs {
            pair(site, tables, pairs, *number, value);
        }
    }
    for (table, before) in ["keys", "refs", "pairs"].iter().zip(before) {
        let after = stored(site, tables, table);
        if before != after {
            site.faults.push(format!("{}: {table} differ:\n{before}\n{after}", tables.ty.declared));
        }
    }
}

fn stored(site: &Site<'_>, tables: &Tables<'_>, table: &str) -> String {
    let exists = table == "keys" || (table == "refs" && tables.references.is_some());
    let exists = exists || (table == "pairs" && tables.pairs.is_some());
    if exists { site.stored(table, tables) } else { String::new() }
}

/// Sends a request, and adds a fault unless it has this status and text.
fn expect(site: &mut Site<'_>, tables: &Tables<'_>, request: [&str; 3], status: u16, text: &str) {
    let [method, path, body] = request;
    let reply = if method == "GET" { site.get(path, body) } else { site.write(method, path, body) };
    if reply.status != status || reply.text() != text {
        site.fault(tables.ty, &format!("{method} {path} {body}: not {status} {text}"), &reply);
    }
}

/// Checks point reads and updates.
fn points(site: &mut Site<'_>, tables: &Tables<'_>, keys: &str, number: u64, value: &ReadValue) {
    let (path, json) = (format!("/{keys}/{}", value.segment()), &value.json);
    let query = format!(r#"{{"{keys}":{{"$select":{{"n":true,"v":true}}}}}}"#);
    let record = format!(r#"{{"n":{number},"v":{json}}}"#);
    expect(site, tables, ["GET", &path, &query], 200, &record);
    posted(site, tables, keys, number, value);
    let record = format!(r#"{{"v":{json},"n":{number}}}"#);
    expect(site, tables, ["PUT", &path, &format!(r#"{{"n":{number}}}"#)], 200, &record);
    expect(site, tables, ["PUT", &path, &record], 200, &record);
}

/// Checks a point read whose id is in the body.
fn posted(site: &mut Site<'_>, tables: &Tables<'_>, keys: &str, number: u64, value: &ReadValue) {
    let query = quoted(&format!(r#"{{"{keys}":{{"$select":{{"n":true,"v":true}}}}}}"#));
    let body = format!(r#"{{"query":{query},"id":{}}}"#, quoted(&value.id()));
    expect(site, tables, ["POST", "", &body], 200, &format!(r#"{{"n":{number},"v":{}}}"#, value.json));
}

/// Checks relations by the value in both directions, and writes of the foreign key.
fn refers(
    site: &mut Site<'_>,
    tables: &Tables<'_>,
    keys: &str,
    references: &References,
    number: u64,
    value: &ReadValue,
) {
    let (References { entity, one, many }, json) = (references, &value.json);
    let (path, key_path) = (format!("/{entity}/{number}"), format!("/{keys}/{}", value.segment()));
    let query = format!(r#"{{"{entity}":{{"$select":{{"{one}":{{"$select":{{"n":true,"v":true}}}}}}}}}}"#);
    expect(site, tables, ["GET", &path, &query], 200, &format!(r#"{{"{one}":{{"n":{number},"v":{json}}}}}"#));
    let query = format!(r#"{{"{keys}":{{"$select":{{"{many}":{{"$select":{{"n":true}}}}}}}}}}"#);
    let related = format!(r#"{{"{many}":[{{"n":{number}}}]}}"#);
    expect(site, tables, ["GET", &key_path, &query], 200, &related);
    // Conditions on the relation, in both directions.
    for (from, relation) in [(entity, one), (&keys.to_owned(), many)] {
        let condition = format!(
            r#"{{"relation":"{relation}","op":"some","where":{{"field":"n","op":"eq","value":{number}}}}}"#
        );
        let query = format!(r#"{{"{from}":{{"$select":{{"n":true}},"$where":{condition}}}}}"#);
        let reply = site.get(&format!("/{from}"), &query);
        if !reply.text().starts_with(&format!(r#"{{"items":[{{"n":{number}}}],"#)) {
            site.fault(tables.ty, &format!("{from} by relation: {condition}"), &reply);
        }
    }
    // The foreign key is emptied, and set in each way.
    let empty = format!(r#"{{"n":{number},"v":null}}"#);
    let full = format!(r#"{{"n":{number},"v":{json}}}"#);
    expect(site, tables, ["PUT", &path, r#"{"v":null}"#], 200, &empty);
    expect(site, tables, ["PUT", &path, &format!(r#"{{"v":{json}}}"#)], 200, &full);
    expect(site, tables, ["DELETE", &format!("{path}/{one}"), ""], 204, "");
    let connected = format!(r#"{{"v":{json},"n":{number}}}"#);
    let to = format!(r#"{{"entityId":{}}}"#, quoted(&value.id()));
    expect(site, tables, ["PUT", &format!("{path}/{one}"), &to], 200, &connected);
    expect(site, tables, ["DELETE", &path, ""], 204, "");
    expect(
        site,
        tables,
        ["POST", &format!("{key_path}/{many}"), &format!(r#"{{"n":{number}}}"#)],
        201,
        &full,
    );
    expect(site, tables, ["DELETE", &format!("{key_path}/{many}/{number}"), ""], 204, "");
}

/// Checks deletion and creation of the record with a key, and a batch that refers to it.
fn again(site: &mut Site<'_>, tables: &Tables<'_>, keys: &str, number: u64, value: &ReadValue) {
    let (path, json) = (format!("/{keys}/{}", value.segment()), &value.json);
    let record = format!(r#"{{"v":{json},"n":{number}}}"#);
    expect(site, tables, ["DELETE", &path, ""], 204, "");
    let reply = site.write("POST", &format!("/{keys}"), &record);
    let location = reply.header("location").map(str::to_owned);
    if reply.status != 201 || reply.text() != record || location != Some(format!("/mesh{path}")) {
        site.fault(tables.ty, &format!("POST {record}, Location {location:?}"), &reply);
    }
    let put = format!(r#"{{"method":"PUT","path":"/{keys}/$k.v","body":{{"n":{number}}}}}"#);
    let (mut steps, mut results) = (vec![put], vec![format!(r#"{{"status":200,"body":{record}}}"#)]);
    if let Some(References { entity, .. }) = &tables.references {
        let refers = format!(r#"{{"n":{number},"v":"$k.v"}}"#);
        steps.push(format!(r#"{{"method":"POST","path":"/{entity}","body":{refers}}}"#));
        results.push(format!(r#"{{"status":201,"body":{{"n":{number},"v":{json}}}}}"#));
    }
    // A text that begins with `$` is a reference.
    let body = record.replacen(r#":"$"#, r#":"$$"#, 1);
    let create = format!(r#"{{"method":"POST","path":"/{keys}","body":{body},"as":"k"}}"#);
    let delete = format!(r#"{{"method":"DELETE","path":"{path}"}}"#);
    let batch = format!(r#"{{"steps":[{delete},{create},{}]}}"#, steps.join(","));
    let created = format!(r#"{{"status":204}},{{"status":201,"body":{record}}}"#);
    let results = format!(r#"{{"results":[{created},{}]}}"#, results.join(","));
    let reply = site.write("POST", "/batch", &batch);
    let text = reply.text().replace(r#"{"status":204,"body":null}"#, r#"{"status":204}"#);
    if reply.status != 200 || text != results {
        site.fault(tables.ty, &format!("batch {batch}\n  not {results}"), &reply);
    }
}

/// Checks a key of which the value is a part.
fn pair(site: &mut Site<'_>, tables: &Tables<'_>, pairs: &str, number: u64, value: &ReadValue) {
    let json = &value.json;
    let path = format!("/{pairs}/{number},{}", value.segment());
    let record = format!(r#"{{"v":{json},"n":{number},"m":0}}"#);
    expect(site, tables, ["PUT", &path, r#"{"m":0}"#], 200, &record);
    expect(site, tables, ["DELETE", &path, ""], 204, "");
    expect(site, tables, ["POST", &format!("/{pairs}"), &record], 201, &record);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
