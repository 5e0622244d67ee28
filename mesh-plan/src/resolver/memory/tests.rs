//! Plans over in-memory tables, from query text to JSON.

mod export;
mod group;
mod page;

use std::future::Future;
use std::pin::pin;
use std::task::{self, Poll, Waker};

use expect_test::{Expect, expect};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};
use serde_json::{Value as Json, json};

use super::Tables;
use crate::{Context, Error, Limits, Mesh, Request, ResolveError, Value};

fn schema() -> Schema {
    use FieldType::{Bigint, Boolean, Decimal, Integer, Number, String};
    Schema::builder()
        .entity("user", |user| user.field("id", Integer).field("name", String))
        .entity("post", |post| {
            let post = post.field("id", Integer).field("title", String).field("status", String);
            let post = post.field("score", Integer).field("rating", Number).field("price", Decimal);
            post.field("published", Boolean).field("views", Bigint).untyped("extra")
        })
        .entity("comment", |comment| {
            comment.field("id", Integer).field("text", String).field("stars", Integer)
        })
        .entity("tag", |tag| tag.field("id", Integer).field("name", String))
        .entity("reading", |reading| reading.field("day", String).field("value", Integer).no_id())
        .entity("ghost", |ghost| ghost.field("id", Integer))
        .relation("user.manager", JoinDocument::one("user", "users.id = users.manager_id"))
        .relation("user.reports", JoinDocument::many("user", "users.manager_id = users.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .relation("comment.author", JoinDocument::one("user", "users.id = comments.author_id"))
        .relation("comment.post", JoinDocument::one("post", "posts.id = comments.post_id"))
        .relation(
            "tag.posts",
            JoinDocument::through("post", ThroughDocument::new("post_tags", "tag_id", "post_id")),
        )
        .build()
        .unwrap_or_else(|faults| panic!("{}", faults[0]))
}

/// Creates rows of literals.
macro_rules! rows {
    ($([$($cell:expr),* $(,)?]),* $(,)?) => { [$(vec![$(Value::from($cell)),*]),*] };
}

const NULL: Option<i64> = None;

fn tables() -> Tables {
    let posts =
        ["id", "title", "status", "author_id", "score", "rating", "price", "published", "views", "extra"];
    Tables::new()
        .with(
            "users",
            ["id", "name", "manager_id"],
            rows![[1, "Ada", NULL], [2, "Ben", 1], [3, "Cyd", 1], [4, "Dee", 2],],
        )
        .with(
            "posts",
            posts,
            rows![
                [1, "One", "draft", 1, 5, 1.5, "1.50", true, 10, "x"],
                [2, "Two", "live", 1, NULL, 2.5, 9, false, 20, 7],
                [3, "Three", "live", 2, 5, NULL, 2.25, 1, NULL, "7"],
                [4, "four_", "live", NULL, 3, 4.0, "10.00", 0, 9_007_199_254_740_993i64, NULL],
                [5, "Five%", NULL, 9, NULL, 0.1, NULL, NULL, 50, vec![7u8]],
            ],
        )
        .with(
            "comments",
            ["id", "post_id", "author_id", "text", "stars"],
            rows![
                [1, 1, 2, "a", 3],
                [2, 1, 3, "b", NULL],
                [3, 1, NULL, "c", 5],
                [4, 1, 1, "d", 3],
                [5, 2, 1, "e", 1],
                [6, 3, 2, "f", 4],
                [7, NULL, 2, "g", 4],
            ],
        )
        .with("tags", ["id", "name"], rows![[1, "red"], [2, "blue"], [3, "green"]])
        .with(
            "post_tags",
            ["post_id", "tag_id"],
            rows![[1, 1], [1, 2], [1, 1], [2, 2], [3, NULL], [NULL, 3], [8, 3],],
        )
        .with("readings", ["day", "value"], rows![["mon", 1], ["tue", 1], ["mon", 2], ["mon", 1]])
}

fn mesh() -> Mesh {
    Mesh::builder(schema()).default_resolver(tables()).build().unwrap()
}

/// Runs a future that does not wait.
fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is pending"),
    }
}

fn run(mesh: &Mesh, request: &Request<'_>) -> Result<String, Error> {
    let body = block_on(mesh.read(&mesh.plan(request)?, &Context::default()))?;
    Ok(String::from_utf8(body.bytes.to_vec()).unwrap())
}

fn read(mesh: &Mesh, query: &Json) -> Result<Json, Error> {
    let text = run(mesh, &Request::collection(Format::Json, &query.to_string()))?;
    Ok(serde_json::from_str(&text).unwrap())
}

/// Compares the items of a collection read, one in each line, or the error.
#[track_caller]
fn check(query: &Json, expected: Expect) {
    expected.assert_eq(&shown(&mesh(), query));
}

fn shown(mesh: &Mesh, query: &Json) -> String {
    match read(mesh, query) {
        Ok(body) => body["items"].as_array().unwrap().iter().map(|item| format!("{item}\n")).collect(),
        Err(Error::Resolve(error @ ResolveError::Failed(_))) => {
            std::error::Error::source(&error).unwrap().to_string()
        }
        Err(error) => error.to_string(),
    }
}

fn condition(field: &str, op: &str, value: impl Into<Json>) -> Json {
    json!({"field": field, "op": op, "value": value.into()})
}

#[test]
fn text_sorts_by_its_bytes_and_mixed_values_by_kind() {
    let ids = |field: &str| {
        let key = json!({"field": field, "direction": "asc"});
        let body = read(&mesh(), &json!({"post": {"$select": {"id": true}, "$orderBy": [key]}})).unwrap();
        body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(ids("title"), "5 1 3 2 4");
    assert_eq!(ids("extra"), "2 3 1 5 4");
    assert_eq!(ids("published"), "2 4 1 3 5");
}

#[test]
fn an_answer_that_is_too_large_is_refused() {
    let limited = |rows| {
        let limits = Limits { rows, ..Limits::default() };
        let mesh = Mesh::builder(schema()).default_resolver(tables()).limits(limits).build().unwrap();
        run(&mesh, &Request::collection(Format::Ql, "{ post id comments { id } }"))
    };
    // Five posts, and six comments that belong to one.
    assert!(limited(11).is_ok());
    assert!(matches!(limited(10), Err(Error::Resolve(ResolveError::TooLarge { rows: 10 }))));
}

#[test]
fn errors_name_missing_tables_and_columns() {
    check(&json!({"ghost": {"$select": {"id": true}}}), expect!["there is no table 'ghosts' in memory"]);
    let tables = Tables::new().with("users", ["id", "title"], rows![[1, "n"]]).with(
        "tags",
        ["id", "name"],
        rows![[1, "n"], [2]],
    );
    let mesh = Mesh::builder(schema()).default_resolver(tables).build().unwrap();
    expect!["there is no column 'name' in the table 'users' in memory"]
        .assert_eq(&shown(&mesh, &json!({"user": {"$select": {"name": true}}})));
    expect!["a row of table 'tags' in memory has 1 cells, which is not one for each column"]
        .assert_eq(&shown(&mesh, &json!({"tag": {"$select": {"name": true}}})));
}

/// The evaluation of many rows ends at the deadline. For very few rows, the clock is not read.
#[test]
fn reads_of_many_rows_end_at_the_deadline() {
    let mesh = Mesh::builder(schema()).default_resolver(tables_of_posts()).build().unwrap();
    let query = r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "some"}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, query)).unwrap();
    let past = Context::default().with_deadline(std::time::Instant::now());
    let result = block_on(mesh.read(&plan, &past));
    assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
    assert!(block_on(mesh.read(&plan, &Context::default())).is_ok());
    // Rows of another resolver, which Mesh evaluates.
    let rows = tables_of_posts().rows(&plan).unwrap();
    let nested = plan.nest_with_deadline(rows, &crate::rows::DeadlineCheck::new(past.deadline));
    assert!(matches!(nested, Err(ResolveError::TimedOut)));
    // Few records, and many pairs of them.
    let pairs = (0..5_000i64).map(|id| vec![1.into(), id.into()]);
    let tables = Tables::new().with("posts", ["id", "author_id"], rows![[1, 1]]).with(
        "tags",
        ["id", "name"],
        rows![[1, "x"]],
    );
    let tables = tables.with("post_tags", ["post_id", "tag_id"], pairs);
    let mesh = Mesh::builder(schema()).default_resolver(tables).build().unwrap();
    let query = r#"{"post": {"$select": {"tags": {"$select": {"name": true}}}}}"#;
    let plan = mesh.plan(&Request::collection(Format::Json, query)).unwrap();
    let result = block_on(mesh.read(&plan, &past));
    assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
}

fn tables_of_posts() -> Tables {
    let posts = (0..5_000i64).map(|id| vec![id.into(), (id % 7).into()]);
    Tables::new().with("posts", ["id", "author_id"], posts).with("users", ["id"], rows![[1]])
}
