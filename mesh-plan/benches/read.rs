//! Benchmarks of planning, shaping and cursors without a database. Run with `cargo bench -p mesh-plan`.
//!
//! w1, w2 and w4 are the reads of `cargo xtask bench`. Rows are generated, so the results show the cost that the server adds
//! to the work of the database.

#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark, with functions from macros"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mesh_plan::backend::{Cells, Flow, RowSource};
use mesh_plan::{Mesh, Node, Plan, RecordId, Request, ResolveError, ValueRef};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema};

const W1: &str = r#"{"post":{"$select":{"id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true}}}"#;
const W2: &str = r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}}}}"#;
const W4: &str = r#"{"post":{"$select":{"id":true,"title":true,"publishedAt":true,"author":{"$select":{"name":true}},"comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}},"$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}}}"#;
const ROWS: &str = r#"{"post":{"$select":{"id":true,"title":true,"views":true},"$orderBy":[{"field":"views","direction":"desc"}],"$page":{"first":1000}}}"#;

/// The number of comments of each post.
const COMMENTS: usize = 5;

/// Creates the blog of the benchmark with a cache of this many plans.
fn mesh(plans: usize) -> Mesh {
    let schema = Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("body", FieldType::String)
                .field("published", FieldType::Boolean)
                .field("publishedAt", FieldType::Datetime)
                .column("publishedAt", "published_at")
                .field("views", FieldType::Integer)
        })
        .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
        .entity("comment", |comment| comment.field("id", FieldType::Integer).field("body", FieldType::String))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .relation("comment.author", JoinDocument::one("user", "users.id = comments.author_id"))
        .build()
        .map_err(|faults| faults[0].to_string())
        .unwrap();
    let query = mesh_ql::Limits { page_max: 10_000, ..mesh_ql::Limits::default() };
    let limits = mesh_plan::Limits { plans, query, ..mesh_plan::Limits::default() };
    Mesh::builder(schema).limits(limits).build().unwrap()
}

/// Generated rows of a node.
struct Rows {
    count: usize,
    cells: Row,
    joins: Vec<Self>,
}

/// A row whose cells are constant, except integers, which increase from row to row.
#[derive(Clone)]
struct Row {
    types: Vec<Option<FieldType>>,
    number: i64,
}

impl Rows {
    fn of(node: &Node, count: usize) -> Self {
        let below = node
            .joins
            .iter()
            .map(|join| Self::of(&join.node, if join.nesting.is_one() { 1 } else { COMMENTS }));
        let types = node.columns.iter().map(|column| column.ty).collect();
        Self { count, cells: Row { types, number: 0 }, joins: below.collect() }
    }
}

impl Cells for Row {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match self.types.get(column).copied().flatten() {
            Some(FieldType::String) => ValueRef::Text(b"the quick brown fox jumps over the lazy dog"),
            Some(FieldType::Datetime) => ValueRef::Text(b"2020-02-29T12:34:56Z"),
            Some(FieldType::Boolean) => ValueRef::Integer(1),
            _ => ValueRef::Integer(self.number),
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
        for _ in 0..self.count {
            self.cells.number += 1;
            if visitor(&self.cells, &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        Ok(self.count as u64)
    }
}

fn point<'q>(text: &'q str, id: &'q str) -> Request<'q> {
    Request::point(Format::Json, text, id)
}

fn page(text: &str) -> Request<'_> {
    Request::collection(Format::Json, text)
}

fn planning(criterion: &mut Criterion) {
    let (fresh, kept) = (mesh(0), mesh(100));
    for (name, request) in [("w1", point(W1, "7")), ("w2", point(W2, "7")), ("w4", page(W4))] {
        criterion.bench_function(&format!("plan {name}, made anew"), |bench| {
            bench.iter(|| fresh.plan(black_box(&request)).unwrap());
        });
    }
    criterion.bench_function("plan w4, found in the cache", |bench| {
        bench.iter(|| kept.plan(black_box(&page(W4))).unwrap());
    });
    let plan = kept.plan(&point(W1, "7")).unwrap();
    criterion.bench_function("aim a plan at another id", |bench| {
        bench.iter(|| plan.with_id(Some(RecordId::Segment(black_box("12345")))));
    });
}

fn shaping(criterion: &mut Criterion) {
    let mesh = mesh(100);
    let shape = |plan: &Plan, rows: &mut Rows| plan.shape(rows, 0).unwrap().bytes.len();
    for (name, request, count) in [("w1", point(W1, "7"), 1), ("w2", point(W2, "7"), 1), ("w4", page(W4), 21)]
    {
        let plan = mesh.plan(&request).unwrap();
        let mut rows = Rows::of(plan.node(), count);
        criterion.bench_function(&format!("shape {name}"), |bench| bench.iter(|| shape(&plan, &mut rows)));
    }
    let plan = mesh.plan(&page(ROWS)).unwrap();
    let mut group = criterion.benchmark_group("shape rows");
    for count in [1u16, 20, 1_000] {
        let mut rows = Rows::of(plan.node(), count.into());
        group.throughput(Throughput::Elements(count.into()));
        group.bench_function(count.to_string(), |bench| bench.iter(|| shape(&plan, &mut rows)));
    }
    group.finish();
}

/// Measures the cursors of pages: sealing them, and opening them when a client sends them back.
fn paging(criterion: &mut Criterion) {
    let mesh = mesh(100);
    let plan = mesh.plan(&page(W4)).unwrap();
    let mut none = Rows::of(plan.node(), 0);
    let mut one = Rows { joins: Rows::of(plan.node(), 0).joins, ..Rows::of(plan.node(), 1) };
    for join in &mut one.joins {
        join.count = 0;
    }
    criterion.bench_function("shape a page without rows", |bench| {
        bench.iter(|| plan.shape(&mut none, 0).unwrap().bytes.len());
    });
    criterion.bench_function("shape a page of one row, its two cursors sealed", |bench| {
        bench.iter(|| plan.shape(&mut one, 0).unwrap().bytes.len());
    });
    let body = String::from_utf8(plan.shape(&mut one, 0).unwrap().bytes.to_vec()).unwrap();
    let (_, end) = body.split_once("\"endCursor\":\"").unwrap();
    let cursor = end.split('"').next().unwrap();
    let after = W4.replace("\"first\":20", &format!("\"first\":20,\"after\":\"{cursor}\""));
    // All later pages share a plan, so only the cursor has to be opened.
    criterion.bench_function("plan w4 after a cursor, found in the cache", |bench| {
        bench.iter(|| mesh.plan(black_box(&page(&after))).unwrap());
    });
}

criterion_group!(reading, planning, shaping, paging);
criterion_main!(reading);
