//! Tests of pages and cursors. `SPEC §5.4`

use mesh_schema::{Catalog, Column, FieldType, Schema, Table};
use serde_json::{Value as Json, json};

use super::{Tables, condition, mesh, read, rows, schema, tables};
use crate::error::PlanErrorKind;
use crate::{Error, Limits, Mesh, ResolveError, Value};

/// Returns the items of all pages of a read, by following its cursors.
fn walk(mesh: &Mesh, entity: &str, read_node: &Json, first: usize) -> Vec<Json> {
    let mut items: Vec<Json> = Vec::new();
    let mut after = Json::Null;
    loop {
        let mut query = json!({entity: read_node});
        query[entity]["$page"] = json!({"first": first, "after": after});
        let body = read(mesh, &query).unwrap();
        let page = body["items"].as_array().unwrap();
        let info = &body["pageInfo"];
        assert!(page.len() <= first);
        assert_eq!(
            (info["startCursor"].is_null(), info["endCursor"].is_null()),
            (page.is_empty(), page.is_empty())
        );
        assert!(!info["hasNextPage"].as_bool().unwrap() || page.len() == first);
        items.extend(page.iter().cloned());
        assert!(items.len() <= 20, "the walk does not end");
        if !info["hasNextPage"].as_bool().unwrap() {
            return items;
        }
        after = info["endCursor"].clone();
    }
}

#[test]
fn a_walk_by_cursor_visits_each_row_once() {
    let mesh = mesh();
    let mut orders = vec![json!([])];
    for direction in ["asc", "desc"] {
        for (nulls, other) in [("first", "asc"), ("first", "desc"), ("last", "asc"), ("last", "desc")] {
            for fields in
                [["score", "status"], ["status", "rating"], ["published", "score"], ["extra", "views"]]
            {
                orders.push(json!([
                    {"field": fields[0], "direction": direction, "nulls": nulls},
                    {"field": fields[1], "direction": other},
                ]));
            }
        }
    }
    for order in orders {
        let query = json!({"$select": {"title": true}, "$orderBy": order});
        let all = read(&mesh, &json!({"post": query})).unwrap()["items"].as_array().unwrap().clone();
        assert_eq!(all.len(), 5);
        for first in [1, 2, 3, 5, 6] {
            assert_eq!(walk(&mesh, "post", &query, first), all, "{order} by {first}");
        }
    }
}

#[test]
fn grouped_and_distinct_reads_page_too() {
    let mesh = mesh();
    let grouped = json!({
        "$select": {"status": true},
        "$groupBy": ["status"],
        "$aggregate": {"n": {"fn": "count"}, "best": {"fn": "max", "field": "rating"}},
        "$orderBy": [{"aggregate": "best", "direction": "desc", "nulls": "first"}],
    });
    let distinct = json!({"$select": {"score": true}, "$distinct": ["score", "published"]});
    for query in [grouped, distinct] {
        let all = read(&mesh, &json!({"post": query})).unwrap()["items"].as_array().unwrap().clone();
        assert!(all.len() >= 3);
        for first in [1, 2, 3] {
            assert_eq!(walk(&mesh, "post", &query, first), all, "{query} by {first}");
        }
    }
}

#[test]
fn rows_without_an_id_are_distinguished_by_their_row_id() {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty: Some(ty), ..Column::default() };
    let table = Table {
        name: "readings".to_owned(),
        columns: vec![column("day", FieldType::String), column("value", FieldType::Integer)],
        row_id: Some("rowid".to_owned()),
        ..Table::default()
    };
    let schema = Schema::builder()
        .entity("reading", |reading| reading.untyped("day").untyped("value").no_id())
        .build_with(&Catalog { tables: vec![table] })
        .unwrap();
    let mesh = Mesh::builder(schema).default_resolver(tables()).build().unwrap();
    let key = json!({"field": "day", "direction": "desc"});
    let query = json!({"$select": {"value": true, "day": true}, "$orderBy": [key]});
    let items = [("tue", 1), ("mon", 1), ("mon", 2), ("mon", 1)];
    let items = items.map(|(day, value)| json!({"value": value, "day": day}));
    for first in 1..=4 {
        assert_eq!(walk(&mesh, "reading", &query, first), items, "by {first}");
    }
}

#[test]
fn a_cursor_of_another_read_or_page_is_refused() {
    let mesh = mesh();
    let base = json!({
        "$select": {"id": true},
        "$where": condition("id", "lt", 5),
        "$orderBy": [{"field": "score", "direction": "desc"}],
        "$page": {"first": 2},
    });
    let body = read(&mesh, &json!({"post": base})).unwrap();
    let cursor = body["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    let with = |entity: &str, changes: &[(&str, Json)], cursor: &str| {
        let mut node = base.clone();
        node["$page"] = json!({"first": 3, "after": cursor});
        for (key, value) in changes {
            node[*key] = value.clone();
        }
        let node: serde_json::Map<_, _> =
            node.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
        read(&mesh, &json!({entity: node})).map(|body| body["items"].clone())
    };
    assert_eq!(with("post", &[], &cursor).unwrap(), json!([{"id": 4}, {"id": 2}]));
    let shown = json!({"title": true, "author": {"$select": {"name": true}}});
    assert_eq!(
        with("post", &[("$select", shown)], &cursor).unwrap(),
        json!([{"title": "four_", "author": null}, {"title": "Two", "author": {"name": "Ada"}}])
    );
    let order = |field: &str, direction: &str, nulls: &str| json!([{"field": field, "direction": direction, "nulls": nulls}]);
    let altered = format!("{}{}", if cursor.starts_with('A') { 'B' } else { 'A' }, &cursor[1..]);
    let refused = [
        with("post", &[("$where", Json::Null)], &cursor),
        with("post", &[("$where", condition("id", "lt", 6))], &cursor),
        with("post", &[("$where", condition("id", "lte", 5))], &cursor),
        with("post", &[("$orderBy", Json::Null)], &cursor),
        with("post", &[("$orderBy", order("rating", "desc", "last"))], &cursor),
        with("post", &[("$orderBy", order("score", "asc", "last"))], &cursor),
        with("post", &[("$orderBy", order("score", "desc", "first"))], &cursor),
        with("post", &[("$distinct", json!(["id", "score"]))], &cursor),
        with("comment", &[("$orderBy", order("stars", "desc", "last"))], &cursor),
        with("post", &[], &altered),
        with("post", &[], ""),
        with("post", &[], "no cursor"),
    ];
    for (index, result) in refused.into_iter().enumerate() {
        match result {
            Err(Error::Plan(error)) => assert_eq!(error.kind, PlanErrorKind::CursorMismatch, "{index}"),
            other => panic!("{index}: {other:?}"),
        }
    }
}

#[test]
fn a_page_starts_after_its_cursor_even_if_the_row_is_deleted() {
    let query =
        |after: &Json| json!({"post": {"$select": {"id": true}, "$page": {"first": 2, "after": after}}});
    let body = read(&mesh(), &query(&Json::Null)).unwrap();
    let others = rows![[1, "n"], [3, "n"], [4, "n"]];
    let later = Mesh::builder(schema())
        .default_resolver(Tables::new().with("posts", ["id", "title"], others))
        .build()
        .unwrap();
    let rest = read(&later, &query(&body["pageInfo"]["endCursor"])).unwrap();
    assert_eq!(rest["items"], json!([{"id": 3}, {"id": 4}]));
}

/// `SPEC §14.9`
#[test]
fn an_order_by_values_of_related_records_sorts_a_bounded_number_of_rows() {
    let mesh = |related_sort_rows| {
        let limits = Limits { related_sort_rows, ..Limits::default() };
        Mesh::builder(schema()).default_resolver(tables()).limits(limits).build().unwrap()
    };
    let by_count = json!([{"relation": "comments", "aggregate": {"fn": "count"}, "direction": "desc"}]);
    let by_path = json!([{"field": "author.name", "direction": "asc"}]);
    for order in [&by_count, &by_path] {
        let query = json!({"post": {"$select": {"id": true}, "$orderBy": order, "$page": {"first": 1}}});
        assert!(read(&mesh(5), &query).is_ok());
        let error = read(&mesh(4), &query).unwrap_err();
        let is_refused = matches!(&error, Error::Resolve(ResolveError::SortTooLarge { path, scanned: 5, bound: 4, .. }) if path == "post");
        assert!(is_refused, "{error:?}");
        // Rows that the filter removes are not sorted.
        let mut filtered = query.clone();
        filtered["post"]["$where"] = condition("id", "lte", 4);
        assert!(read(&mesh(4), &filtered).is_ok());
    }
    let own =
        json!({"post": {"$select": {"id": true}, "$orderBy": [{"field": "title", "direction": "asc"}]}});
    assert!(read(&mesh(0), &own).is_ok());
}
