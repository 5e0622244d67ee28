//! Parsing times. Run with `cargo bench -p mesh-ql --bench parse`.
//!
//! `w1`, `w2` and `w4` are reads from the workloads of `cargo xtask bench`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark, whose macros document nothing")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mesh_ql::{Format, Limits, parse};

const W1: &str = r#"{"post":{"$select":{"id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true}}}"#;
const W2: &str = r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}}}}"#;
const W4: &str = r#"{"post":{"$select":{"id":true,"title":true,"publishedAt":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}},"$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}}}"#;
const BRACES: &str = "{ post id title publishedAt author { name } comments { body author { name } } }";

/// Returns a query whose filter has the given number of conditions.
fn filter(conditions: usize) -> String {
    let one = |number| format!(r#"{{"field":"views","op":"gt","value":{number}}}"#);
    let all: Vec<String> = (0..conditions).map(one).collect();
    format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{{"and":[{}]}}}}}}"#, all.join(","))
}

fn benches(criterion: &mut Criterion) {
    let limits = Limits::default();
    let long = filter(50);
    let texts = [
        ("w1", Format::Json, W1),
        ("w2", Format::Json, W2),
        ("w4", Format::Json, W4),
        ("braces", Format::Ql, BRACES),
        ("50 conditions", Format::Json, &long),
    ];
    for (name, format, text) in texts {
        criterion.bench_function(&format!("parse {name}"), |bench| {
            bench.iter(|| parse(format, black_box(text), &limits).unwrap());
        });
    }
    let cut = W4.get(..W4.len() - 3).unwrap();
    criterion.bench_function("parse refused", |bench| {
        bench.iter(|| parse(Format::Json, black_box(cut), &limits).unwrap_err());
    });
}

criterion_group!(parsing, benches);
criterion_main!(parsing);
