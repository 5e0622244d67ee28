//! Paging by cursors: each row that persists is visited once and in order while other rows come and go.

use std::fmt::Write;

use mesh_tests::{Database, Request, Server};
use rusqlite::Connection;
use serde_json::{Value, json};

/// The first id of the rows that come and go.
const TRANSIENT: i64 = 1000;

/// Creates many rows with few distinct values, so with ties, and with NULLs.
fn crowd() -> Database {
    let mut rows = String::new();
    for id in 1..=26_i64 {
        let pick = |values: &[&str], by: i64| {
            values[usize::try_from((id * by) % values.len() as i64).unwrap()].to_owned()
        };
        let values = [
            pick(&["NULL", "1", "2", "-9223372036854775808"], 3),
            pick(&["'b'", "NULL", "'a'", "'ä'", "''", "'B'"], 5),
            pick(&["0.1", "NULL", "-1e300", "0.1", "3"], 7),
            pick(&["1", "0", "NULL"], 2),
        ];
        writeln!(rows, "INSERT INTO crowd VALUES ({id}, {});", values.join(", ")).unwrap();
    }
    Database::new(&format!(
        "CREATE TABLE crowd (id INTEGER PRIMARY KEY, n INTEGER, t TEXT, r REAL, b BOOLEAN);
         CREATE INDEX crowd_n ON crowd (n, t);
         {rows}"
    ))
}

/// A key of an order: field, direction, and optionally the position of NULL.
type Key = (&'static str, &'static str, Option<&'static str>);

const ORDERS: &[&[Key]] = &[
    &[],
    &[("id", "desc", None)],
    &[("n", "asc", None)],
    &[("n", "desc", None)],
    &[("n", "asc", Some("first"))],
    &[("n", "desc", Some("first"))],
    &[("t", "asc", None), ("n", "desc", None)],
    &[("t", "desc", Some("first")), ("r", "asc", None)],
    &[("b", "asc", Some("first")), ("r", "desc", Some("first")), ("t", "asc", None)],
    &[("r", "desc", None), ("b", "desc", None), ("n", "asc", Some("first")), ("t", "desc", None)],
];

fn json_order(keys: &[Key]) -> Value {
    let keys = keys.iter().map(|(field, direction, nulls)| {
        let mut key = json!({"field": field, "direction": direction});
        if let Some(nulls) = nulls {
            key["nulls"] = json!(nulls);
        }
        key
    });
    keys.collect()
}

/// Returns the order as SQL.
fn sql_order(keys: &[Key], tie: &str) -> String {
    let mut order = String::new();
    for (field, direction, nulls) in keys {
        let rank = if *nulls == Some("first") { "IS NOT NULL" } else { "IS NULL" };
        write!(order, "{field} {rank}, {field} {direction}, ").unwrap();
    }
    let last = keys.last().map_or("asc", |key| key.1);
    format!("{order}{tie} {last}")
}

fn ids(connection: &Connection, order: &str) -> Vec<i64> {
    let sql = format!("SELECT id FROM crowd WHERE id < {TRANSIENT} ORDER BY {order}");
    let mut statement = connection.prepare(&sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Reads all pages by POST, since cursors may be long. Calls `meanwhile` between pages.
fn walk(
    server: &Server,
    node: &Value,
    entity: &str,
    first: u32,
    mut meanwhile: impl FnMut(usize),
) -> Vec<Value> {
    let mut items = Vec::new();
    let mut after = Value::Null;
    for page in 0..300 {
        let mut node = node.clone();
        node["$page"] = json!({"first": first, "after": after});
        let query = json!({entity: node}).to_string();
        let reply = server.send(&Request::post("/mesh", &json!({"query": query}).to_string()));
        assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        let body = reply.json();
        let found = body["items"].as_array().unwrap().clone();
        let has_next = body["pageInfo"]["hasNextPage"] == json!(true);
        assert!(found.len() <= first as usize && (!has_next || found.len() == first as usize), "{body}");
        items.extend(found);
        if !has_next {
            return items;
        }
        after = body["pageInfo"]["endCursor"].clone();
        meanwhile(page);
    }
    panic!("no end after 300 pages: {node}");
}

/// Inserts two rows and deletes the oldest inserted one, which is often the row of the cursor.
fn change_transient_rows(connection: &Connection, page: usize) {
    let come = TRANSIENT + i64::try_from(page).unwrap() * 2;
    if page < 25 {
        let values =
            ["NULL, 'a', 0.1, 1", "2, NULL, NULL, NULL", "1, 'b', 3, 0", "5, 'zz', 1e9, 1"][page % 4];
        let sql = format!("INSERT INTO crowd VALUES ({come}, {values}), ({come} + 1, {values});");
        connection.execute_batch(&sql).unwrap();
    }
    let sql = format!("DELETE FROM crowd WHERE id BETWEEN {TRANSIENT} AND {come} - 2;");
    connection.execute_batch(&sql).unwrap();
}

#[test]
fn each_persistent_row_is_visited_once_and_in_order() {
    let crowd = crowd();
    let server = Server::with_database(&crowd);
    let connection = crowd.connect();
    for keys in ORDERS {
        let tie = if keys.iter().any(|key| key.0 == "id") { "1" } else { "id" };
        let order = if tie == "1" { "id desc".to_owned() } else { sql_order(keys, tie) };
        let expected = ids(&connection, &order);
        assert_eq!(expected.len(), 26);
        for first in [1, 2, 3] {
            let node = json!({"$select": {"id": true}, "$orderBy": json_order(keys)});
            let items = walk(&server, &node, "crowd", first, |page| change_transient_rows(&connection, page));
            let seen: Vec<i64> = items.iter().map(|item| item["id"].as_i64().unwrap()).collect();
            let stayed: Vec<i64> = seen.iter().copied().filter(|id| *id < TRANSIENT).collect();
            assert_eq!(stayed, expected, "first {first}, order {order}");
            connection.execute_batch(&format!("DELETE FROM crowd WHERE id >= {TRANSIENT};")).unwrap();
        }
    }
}

#[test]
fn a_filter_and_varying_page_sizes_skip_no_row() {
    let crowd = crowd();
    let server = Server::with_database(&crowd);
    let filter = json!({"or": [{"field": "n", "op": "isNull"}, {"field": "t", "op": "gt", "value": "A"}]});
    let order = json!([{"field": "t", "direction": "desc"}]);
    let node = json!({"$select": {"id": true}, "$where": filter, "$orderBy": order});
    let at_once = walk(&server, &node, "crowd", 200, |_| {});
    assert!(at_once.len() > 10);
    for first in [1, 2, 3] {
        assert_eq!(walk(&server, &node, "crowd", first, |_| {}), at_once, "first {first}");
    }
}

#[test]
fn tables_without_an_id_are_paged_by_key_or_rowid() {
    let database = Database::new(
        "CREATE TABLE pair (a TEXT, b INTEGER, v INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
         INSERT INTO pair VALUES ('x', 1, 1), ('x', 2, NULL), ('y', 1, 1), ('y', 2, NULL), ('z', 1, 1);
         CREATE TABLE heap (v INTEGER, w TEXT);
         INSERT INTO heap VALUES (1, 'a'), (1, 'a'), (NULL, 'a'), (NULL, 'a'), (2, 'b'), (1, 'a');",
    );
    let server = Server::with_database(&database);
    for (entity, fields, expected) in [
        ("pair", json!({"a": true, "b": true}), json!([["x", 1], ["y", 1], ["z", 1], ["x", 2], ["y", 2]])),
        (
            "heap",
            json!({"v": true, "w": true}),
            json!([[1, "a"], [1, "a"], [1, "a"], [2, "b"], [null, "a"], [null, "a"]]),
        ),
    ] {
        for first in [1, 2, 3] {
            let node = json!({"$select": fields, "$orderBy": [{"field": "v", "direction": "asc"}]});
            let items = walk(&server, &node, entity, first, |_| {});
            let rows: Value = items
                .iter()
                .map(|item| Value::from(item.as_object().unwrap().values().cloned().collect::<Vec<_>>()))
                .collect();
            assert_eq!(rows, expected, "{entity}, first {first}");
        }
    }
}

#[test]
fn grouped_and_distinct_reads_are_paged() {
    let server = Server::with_database(&crowd());
    let order = json!([{"aggregate": "c", "direction": "desc"}, {"field": "t", "direction": "desc"}]);
    let nodes = [
        json!({"$select": {"n": true}, "$distinct": ["n"], "$orderBy": [{"field": "n", "direction": "desc"}]}),
        json!({"$select": {"n": true, "t": true}, "$distinct": ["n", "t"]}),
        json!({"$select": {"b": true}, "$distinct": ["b", "n"], "$orderBy": [{"field": "b", "direction": "asc", "nulls": "first"}]}),
        json!({"$select": {"t": true}, "$groupBy": ["t"], "$aggregate": {"c": {"fn": "count"}}, "$orderBy": order}),
        json!({"$select": {"t": true, "b": true}, "$groupBy": ["t", "b"], "$aggregate": {"s": {"fn": "sum", "field": "r"}}, "$orderBy": [{"aggregate": "s", "direction": "asc", "nulls": "first"}]}),
        json!({"$select": {"t": true}, "$groupBy": ["t"], "$aggregate": {"m": {"fn": "avg", "field": "r"}}, "$orderBy": [{"aggregate": "m", "direction": "desc"}]}),
    ];
    for node in nodes {
        let at_once = walk(&server, &node, "crowd", 200, |_| {});
        assert!(at_once.len() > 2, "{node}");
        for first in [1, 2, 3] {
            assert_eq!(walk(&server, &node, "crowd", first, |_| {}), at_once, "first {first}: {node}");
        }
    }
}

#[test]
fn a_cursor_is_valid_after_a_restart() {
    let crowd = crowd();
    let query = |after: &Value| {
        let page = json!({"first": 2, "after": after});
        json!({"crowd": {"$select": {"id": true}, "$orderBy": [{"field": "n", "direction": "desc"}], "$page": page}}).to_string()
    };
    let server = Server::with_database(&crowd);
    let first = server.get("/crowd", &query(&Value::Null)).json();
    let cursor = &first["pageInfo"]["endCursor"];
    let second = server.get("/crowd", &query(cursor)).json();
    drop(server);
    let server = Server::with_database(&crowd);
    assert_eq!(server.get("/crowd", &query(cursor)).json(), second);
    assert_ne!(first["items"], second["items"]);
}
