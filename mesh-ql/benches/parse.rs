//! What does it cost to read a query? Run with `cargo bench -p mesh-ql`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark, whose macros document nothing")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mesh_ql::{Format, Limits, parse};

const SCALARS: &str = r#"{"post":{"$select":{"id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true}}}"#;
const PAGE: &str = r#"{"post":{"$select":{"id":true,"title":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}},"$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}}}"#;
const BRACES: &str = "{ post id title author { name } comments { body author { name } } }";

fn benches(criterion: &mut Criterion) {
    let limits = Limits::default();
    for (name, format, text) in
        [("scalars", Format::Json, SCALARS), ("page", Format::Json, PAGE), ("braces", Format::Ql, BRACES)]
    {
        criterion.bench_function(&format!("parse {name}"), |bench| {
            bench.iter(|| parse(format, black_box(text), &limits).unwrap());
        });
    }
}

criterion_group!(parsing, benches);
criterion_main!(parsing);
