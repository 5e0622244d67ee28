//! What do planning, shaping and cursors cost, without any database? Run with `cargo bench -p mesh-plan`.

#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark, whose macros document nothing"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mesh_plan::{Cells, Flow, Mesh, Plan, Request, ResolveError, RowSource, ValueRef};
use mesh_ql::Format;
use mesh_schema::{FieldType, Schema};

const POINT: &str = r#"{"post":{"$select":{"id":true,"title":true,"views":true}}}"#;
const PAGE: &str = r#"{"post":{"$select":{"id":true,"title":true,"views":true},"$orderBy":[{"field":"views","direction":"desc"}],"$page":{"first":200}}}"#;

fn mesh(plans: usize) -> Mesh {
    let schema = Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("views", FieldType::Integer)
        })
        .build()
        .map_err(|faults| faults[0].to_string())
        .unwrap();
    let limits = mesh_plan::Limits { plans, ..mesh_plan::Limits::default() };
    Mesh::builder(schema).limits(limits).build()
}

/// So many rows that cost nothing to fetch.
struct Rows(i64);

struct Row(i64);

impl Cells for Row {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match column {
            1 => ValueRef::Text(b"the quick brown fox jumps over the lazy dog"),
            _ => ValueRef::Integer(self.0),
        }
    }
}

impl RowSource for Rows {
    type Row<'r> = Row;

    fn visit<'p>(
        &mut self,
        _: Option<&Row>,
        mut visitor: impl FnMut(&Row, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        for id in 0..self.0 {
            if visitor(&Row(id), &mut [])? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

fn shape(plan: &Plan, rows: i64) -> usize {
    plan.shape(&mut Rows(rows)).unwrap().bytes.len()
}

fn benches(criterion: &mut Criterion) {
    let (fresh, kept) = (mesh(0), mesh(100));
    criterion.bench_function("plan, made anew", |bench| {
        bench.iter(|| fresh.plan(&Request::collection(Format::Json, black_box(PAGE))).unwrap());
    });
    criterion.bench_function("plan, found in the cache", |bench| {
        bench.iter(|| kept.plan(&Request::collection(Format::Json, black_box(PAGE))).unwrap());
    });
    let point = kept.plan(&Request::point(Format::Json, POINT, "7")).unwrap();
    criterion.bench_function("aim a plan at another id", |bench| {
        bench.iter(|| point.aimed_at(Some(black_box("12345"))));
    });
    criterion.bench_function("shape one row", |bench| bench.iter(|| shape(&point, 1)));
    let page = kept.plan(&Request::collection(Format::Json, PAGE)).unwrap();
    let mut group = criterion.benchmark_group("shape rows");
    for rows in [1i64, 20, 200] {
        group.throughput(Throughput::Elements(rows.unsigned_abs()));
        group.bench_function(rows.to_string(), |bench| bench.iter(|| shape(&page, rows)));
    }
    group.finish();
    let body = String::from_utf8(page.shape(&mut Rows(200)).unwrap().bytes.to_vec()).unwrap();
    let (_, end) = body.split_once("\"endCursor\":\"").unwrap();
    let cursor = end.split('"').next().unwrap();
    let after = PAGE.replace("\"first\":200", &format!("\"first\":200,\"after\":\"{cursor}\""));
    criterion.bench_function("plan a later page, its cursor opened", |bench| {
        bench.iter(|| kept.plan(&Request::collection(Format::Json, black_box(&after))).unwrap());
    });
}

criterion_group!(reading, benches);
criterion_main!(reading);
