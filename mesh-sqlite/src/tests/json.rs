//! Conditions on JSON in columns of any type. `SPEC §14.8`

use mesh_plan::{Context, Request};
use mesh_ql::Format;
use serde_json::Value;

use super::File;

/// Returns the ids of the files that satisfy a condition.
async fn found(file: &File, condition: &str) -> String {
    let query = format!(r#"{{"file": {{"$select": {{"id": true}}, "$where": {condition}}}}}"#);
    let mesh = file.mesh();
    let plan = mesh.plan(&Request::collection(Format::Json, &query)).unwrap();
    let body = mesh.read(&plan, &Context::default()).await.unwrap();
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    let ids = body["items"].as_array().unwrap().iter().map(|item| item["id"].to_string());
    ids.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_is_no_json_is_null_to_conditions() {
    let file = File::new(
        r#"CREATE TABLE files (id INTEGER PRIMARY KEY, meta JSON);
        INSERT INTO files VALUES (1, '["x", 1'), (2, 'x'), (3, NULL), (4, ''), (5, '["x", 9007199254740993]'),
            (6, '["x", true]'), (7, x'5b312c325d'), (8, '["x", 1e400]'), (9, '{"1": 1, "a\"b.c": "y"}'), (10, '1.50'),
            (11, '["x", "1"]'), (12, CAST(x'5b22ff225d' AS TEXT));"#,
    );
    let found = async |condition: &str| found(&file, condition).await;
    assert_eq!(found(r#"{"field": "meta", "at": "/0", "op": "eq", "value": "x"}"#).await, "5 6 8 11");
    assert_eq!(
        found(r#"{"not": {"field": "meta", "at": "/0", "op": "eq", "value": "y"}}"#).await,
        "5 6 8 11"
    );
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "eq", "value": 9007199254740992}"#).await, "");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "eq", "value": 9007199254740993}"#).await, "5");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "eq", "value": 1}"#).await, "9");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "eq", "value": true}"#).await, "6");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "nin", "value": ["2"]}"#).await, "11");
    assert_eq!(found(r#"{"field": "meta", "at": "", "op": "gte", "value": 1.5}"#).await, "10");
    assert_eq!(found(r#"{"field": "meta", "at": "/a\"b.c", "op": "ilike", "value": "Y"}"#).await, "9");
    assert_eq!(found(r#"{"field": "meta", "at": "", "op": "isNull"}"#).await, "1 2 3 4 7 12");
    assert_eq!(found(r#"{"field": "meta", "op": "isNull"}"#).await, "3");
    assert_eq!(found(r#"{"field": "meta", "op": "has", "value": "x"}"#).await, "5 6 8 11");
    assert_eq!(found(r#"{"field": "meta", "op": "hasAny", "value": [9007199254740992, 1]}"#).await, "");
    assert_eq!(found(r#"{"field": "meta", "op": "hasAny", "value": [9007199254740993, 1]}"#).await, "5");
    assert_eq!(found(r#"{"field": "meta", "op": "has", "value": true}"#).await, "6");
    assert_eq!(found(r#"{"not": {"field": "meta", "op": "hasAll", "value": ["x", "1"]}}"#).await, "5 6 8");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "has", "value": 1}"#).await, "");
}
