//! Tests of `$where`. `SPEC §3.7`

use serde_json::{Value as Json, json};

use super::{condition, mesh, read};

/// Returns the ids of the posts that match a filter.
#[track_caller]
fn passes(filter: &Json, ids: &[i64]) {
    let body = read(&mesh(), &json!({"post": {"$select": {"id": true}, "$where": filter}})).unwrap();
    let found: Vec<_> =
        body["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect();
    assert_eq!(found, ids, "{filter}");
}

#[test]
fn filters_compare_by_type() {
    passes(&condition("score", "eq", 5), &[1, 3]);
    passes(&condition("score", "ne", 5), &[4]);
    passes(&condition("score", "gte", 3.0), &[1, 3, 4]);
    passes(&condition("rating", "gt", 1), &[1, 2, 4]);
    passes(&condition("rating", "eq", 4), &[4]);
    passes(&condition("published", "eq", true), &[1, 3]);
    passes(&condition("published", "ne", true), &[2, 4]);
    passes(&condition("views", "eq", "9007199254740993"), &[4]);
    passes(&condition("views", "lt", 9_007_199_254_740_992i64), &[1, 2, 5]);
    passes(&condition("price", "eq", "1.5"), &[1]);
    passes(&condition("price", "gte", 9), &[2, 4]);
    passes(&condition("title", "lt", "One"), &[5]);
    passes(&condition("extra", "eq", "x"), &[1]);
}

#[test]
fn lists_and_patterns() {
    passes(&condition("score", "in", json!([3, 4])), &[4]);
    passes(&condition("score", "nin", json!([3, 4])), &[1, 3]);
    passes(&condition("score", "in", json!([])), &[]);
    passes(&condition("score", "nin", json!([])), &[1, 2, 3, 4, 5]);
    passes(&condition("title", "like", "T%"), &[2, 3]);
    passes(&condition("title", "like", "t%"), &[]);
    passes(&condition("title", "ilike", "t%"), &[2, 3]);
    passes(&condition("title", "like", "%e"), &[1, 3]);
    passes(&condition("title", "like", r"%\%"), &[5]);
    passes(&condition("title", "like", r"f___\_"), &[4]);
    passes(&condition("extra", "like", "%"), &[1, 3]);
    passes(&json!({"not": condition("extra", "like", "%")}), &[2, 5]);
}

#[test]
fn null_is_neither_equal_nor_unequal() {
    let is_five = condition("score", "eq", 5);
    passes(&json!({"not": is_five}), &[4]);
    passes(&json!({"not": {"not": is_five}}), &[1, 3]);
    passes(&json!({"field": "score", "op": "isNull"}), &[2, 5]);
    passes(&json!({"not": {"field": "score", "op": "isNull"}}), &[1, 3, 4]);
    passes(&json!({"field": "score", "op": "isNotNull"}), &[1, 3, 4]);
    passes(&json!({"not": condition("score", "in", json!([5]))}), &[4]);
    passes(&json!({"not": condition("score", "in", json!([]))}), &[1, 2, 3, 4, 5]);
    passes(&json!({"or": [is_five, condition("id", "eq", 2)]}), &[1, 2, 3]);
    passes(&json!({"not": {"or": [is_five, condition("id", "eq", 4)]}}), &[]);
    passes(&json!({"not": {"and": [is_five, condition("id", "lt", 3)]}}), &[3, 4, 5]);
    passes(&json!({"and": [{"not": is_five}, condition("id", "lt", 9)]}), &[4]);
}
