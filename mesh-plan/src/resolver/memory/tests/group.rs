//! Tests of grouped and distinct reads. `SPEC §3.12`, `SPEC §3.13`

use expect_test::expect;
use mesh_schema::{FieldType, Schema};
use serde_json::{Value as Json, json};

use super::{Tables, check, condition, shown};
use crate::{Mesh, ResolveError, Value};

#[test]
fn distinct_combinations() {
    check(
        &json!({"post": {"$select": {"score": true}, "$distinct": ["score"]}}),
        expect![[r#"
        {"score":3}
        {"score":5}
        {"score":null}
    "#]],
    );
    check(
        &json!({"post": {"$select": {"status": true, "score": true}, "$distinct": ["score", "status"],
        "$orderBy": [{"field": "status", "direction": "desc"}]}}),
        expect![[r#"
            {"status":"live","score":5}
            {"status":"live","score":3}
            {"status":"live","score":null}
            {"status":"draft","score":5}
            {"status":null,"score":null}
        "#]],
    );
    check(
        &json!({"reading": {"$select": {"day": true}, "$distinct": ["value", "day"]}}),
        expect![[r#"
        {"day":"mon"}
        {"day":"tue"}
        {"day":"mon"}
    "#]],
    );
}

#[test]
fn aggregates_of_groups() {
    let aggregates = json!({
        "n": {"fn": "count"},
        "scored": {"fn": "count", "field": "score"},
        "scores": {"fn": "count", "field": "score", "distinct": true},
        "sum": {"fn": "sum", "field": "score"},
        "once": {"fn": "sum", "field": "score", "distinct": true},
        "mean": {"fn": "avg", "field": "score"},
        "rating": {"fn": "sum", "field": "rating"},
        "low": {"fn": "min", "field": "title"},
        "high": {"fn": "max", "field": "title"},
        "views": {"fn": "max", "field": "views"},
        "all": {"fn": "sum", "field": "views"},
    });
    let query = json!({"$select": {"status": true}, "$groupBy": ["status"], "$aggregate": aggregates});
    check(
        &json!({"post": query}),
        expect![[r#"
        {"status":"draft","n":1,"scored":1,"scores":1,"sum":5,"once":5,"mean":5,"rating":1.5,"low":"One","high":"One","views":"10","all":"10"}
        {"status":"live","n":3,"scored":2,"scores":2,"sum":8,"once":8,"mean":4,"rating":6.5,"low":"Three","high":"four_","views":"9007199254740993","all":"9007199254741013"}
        {"status":null,"n":1,"scored":0,"scores":0,"sum":null,"once":null,"mean":null,"rating":0.1,"low":"Five%","high":"Five%","views":"50","all":"50"}
    "#]],
    );
    check(
        &json!({"post": {"$select": {}, "$aggregate": aggregates}}),
        expect![[r#"
        {"n":5,"scored":3,"scores":2,"sum":13,"once":8,"mean":4.333333333333333,"rating":8.1,"low":"Five%","high":"four_","views":"9007199254740993","all":"9007199254741073"}
    "#]],
    );
    let nothing = condition("id", "gt", 100);
    check(
        &json!({"post": {"$select": {}, "$aggregate": aggregates, "$where": nothing}}),
        expect![[r#"
        {"n":0,"scored":0,"scores":0,"sum":null,"once":null,"mean":null,"rating":null,"low":null,"high":null,"views":null,"all":null}
    "#]],
    );
    let mut none = query;
    none["$where"] = nothing;
    check(&json!({"post": none}), expect![[""]]);
}

#[test]
fn having_filters_groups() {
    let query = |having: Json| {
        json!({"post": {
            "$select": {"score": true},
            "$groupBy": ["score"],
            "$aggregate": {"n": {"fn": "count"}},
            "$having": having,
            "$orderBy": [{"aggregate": "n", "direction": "desc"}],
        }})
    };
    check(
        &query(json!({"aggregate": "n", "op": "gt", "value": 1})),
        expect![[r#"
        {"score":5,"n":2}
        {"score":null,"n":2}
    "#]],
    );
    check(
        &query(condition("score", "lte", 5)),
        expect![[r#"
        {"score":5,"n":2}
        {"score":3,"n":1}
    "#]],
    );
    check(
        &query(json!({"not": {"field": "score", "op": "isNull"}})),
        expect![[r#"
        {"score":5,"n":2}
        {"score":3,"n":1}
    "#]],
    );
    let none = json!({"post": {"$select": {}, "$aggregate": {"n": {"fn": "count"}},
        "$having": {"aggregate": "n", "op": "gt", "value": 5}}});
    check(&none, expect![[""]]);
}

#[test]
fn a_sum_past_64_bits_is_refused() {
    let sum = |values: Vec<Value>, field: &str, ty: FieldType| {
        let schema = Schema::builder()
            .entity("number", |number| number.field("id", FieldType::Integer).field(field, ty));
        let rows = values.into_iter().zip(1i64..).map(|(value, id)| vec![id.into(), value]);
        let mesh = Mesh::builder(schema.build().unwrap())
            .default_resolver(Tables::new().with("numbers", ["id", field], rows))
            .build()
            .unwrap();
        shown(
            &mesh,
            &json!({"number": {"$select": {}, "$aggregate": {"sum": {"fn": "sum", "field": field}}}}),
        )
    };
    let whole =
        |values: &[i64]| sum(values.iter().map(|value| (*value).into()).collect(), "n", FieldType::Integer);
    assert_eq!(whole(&[i64::MAX, 1]), ResolveError::SumOverflow.to_string());
    assert_eq!(whole(&[i64::MIN, -1]), ResolveError::SumOverflow.to_string());
    assert_eq!(whole(&[i64::MAX, 1, -1]), format!("{{\"sum\":{}}}\n", i64::MAX));
    let bigint = sum(vec![i64::MAX.into(), 0.into()], "n", FieldType::Bigint);
    assert_eq!(bigint, format!("{{\"sum\":\"{}\"}}\n", i64::MAX));
    let mixed = sum(vec![i64::MAX.into(), 0.5.into(), i64::MAX.into()], "n", FieldType::Number);
    assert_eq!(mixed, "{\"sum\":1.8446744073709552e+19}\n");
    let reals = sum(vec![0.1.into(), 0.2.into(), 0.3.into(), f64::NAN.into()], "n", FieldType::Number);
    assert_eq!(reals, "{\"sum\":0.6}\n");
    let infinite = sum(vec![f64::INFINITY.into(), f64::NEG_INFINITY.into()], "n", FieldType::Number);
    assert_eq!(infinite, "{\"sum\":null}\n");
}
