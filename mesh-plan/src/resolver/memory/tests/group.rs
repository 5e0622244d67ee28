//! Tests of grouped and distinct reads. `SPEC §3.12`, `SPEC §3.13`

use mesh_schema::{FieldType, Schema};
use serde_json::json;

use super::{Tables, shown};
use crate::{Mesh, ResolveError, Value};

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
