//! Tests of grouped and distinct reads. `SPEC §3.12`, `SPEC §3.13`

use mesh_schema::{FieldType, Schema};
use serde_json::json;

use super::{Tables, shown};
use crate::{Mesh, ResolveError, Value};

#[test]
fn buckets_are_groups() {
    let schema = Schema::builder()
        .entity("post", |post| post.field("id", FieldType::Integer).field("at", FieldType::Datetime));
    let times: [Value; 5] =
        ["2026-03-31T21:59:59Z".into(), "2026-03-31T22:00:00Z".into(), Value::Null, "soon".into(), 0.into()];
    let rows = times.into_iter().zip(1i64..).map(|(at, id)| vec![id.into(), at]);
    let mesh = Mesh::builder(schema.build().unwrap())
        .default_resolver(Tables::new().with("posts", ["id", "at"], rows))
        .build()
        .unwrap();
    let by_month = |zone: &str, controls: serde_json::Value| {
        let mut node = json!({
            "$select": {"month": true},
            "$groupBy": [{"field": "at", "by": "month", "as": "month", "zone": zone}],
            "$aggregate": {"n": {"fn": "count"}},
        });
        node.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
        shown(&mesh, &json!({"post": node}))
    };
    let lines = |items: &[&str]| items.iter().map(|item| format!("{item}\n")).collect::<String>();
    assert_eq!(
        by_month("Europe/Berlin", json!({})),
        lines(&[
            r#"{"month":"1970-01-01","n":1}"#,
            r#"{"month":"2026-03-01","n":1}"#,
            r#"{"month":"2026-04-01","n":1}"#,
            r#"{"month":null,"n":2}"#,
        ])
    );
    let filtered = json!({
        "$having": {"field": "month", "op": "gte", "value": "2026"},
        "$orderBy": [{"field": "month", "direction": "desc"}],
    });
    assert_eq!(by_month("UTC", filtered), lines(&[r#"{"month":"2026-03-01","n":2}"#]));
    let unknown = ResolveError::UnknownZone { zone: "Europe/Entenhausen".to_owned() };
    let none = json!({"$where": {"field": "id", "op": "eq", "value": 0}});
    assert_eq!(by_month("Europe/Entenhausen", none), unknown.to_string());
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
