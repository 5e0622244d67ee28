//! A traced read returns the answer of a plain one, and records its statements.

use std::sync::Arc;

use mesh_plan::backend::Trace;
use mesh_plan::{Context, Mesh, Request};
use mesh_ql::Format;

use super::*;
use crate::tests::File;

const BLOG: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES users (id));
    INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
    INSERT INTO posts VALUES (1, 'One', 1), (2, 'Two', 1), (3, 'Three', NULL);";

async fn traced(mesh: &Mesh, request: &Request<'_>, trace: Trace) -> (String, Vec<TracedStatement>) {
    let plan = mesh.plan(request).unwrap();
    let plain = mesh.read(&plan, &Context::new("plain")).await.unwrap();
    let trace = Arc::new(trace);
    let context = Context::new("traced").with_trace(Some(Arc::clone(&trace)));
    let body = mesh.read(&plan, &context).await.unwrap();
    assert_eq!(body.bytes, plain.bytes);
    (String::from_utf8_lossy(&body.bytes).into_owned(), trace.take())
}

#[tokio::test]
async fn a_trace_has_runs_rows_and_parameters_of_statements() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let query = r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true, "author": {"$select": {"name": true}}}}},
        "$where": {"field": "id", "op": "gte", "value": 1}}}"#;
    let (body, statements) = traced(&mesh, &Request::collection(Format::Json, query), Trace::new()).await;
    assert!(body.contains(r#"{"title":"One","author":{"name":"Ada"}}"#), "{body}");
    let counts: Vec<_> = statements.iter().map(|one| (one.path.as_str(), one.runs, one.rows)).collect();
    // The author is in the rows of the posts.
    assert_eq!(counts, [("user", 1, 2), ("user.posts", 2, 2)]);
    let [user, posts] = &statements[..] else { panic!("{statements:?}") };
    assert_eq!(user.params.first(), Some(&Value::Integer(1)));
    assert_eq!(posts.params.first(), Some(&Value::Integer(1)));
    assert!(posts.sql.contains("JOIN \"users\"") && posts.query_plan.is_empty(), "{posts:?}");
    assert!(user.duration > Duration::ZERO && posts.duration > Duration::ZERO);
}

#[tokio::test]
async fn a_trace_has_query_plans_on_request() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let request = Request::point(Format::Ql, "{ user name posts { title } }", "1");
    let (_, statements) = traced(&mesh, &request, Trace::new().with_query_plans()).await;
    let plans: Vec<_> = statements.iter().map(|one| one.query_plan.join(", ")).collect();
    assert!(
        plans.len() == 2 && plans[0].contains("PRIMARY KEY") && plans[1].starts_with("SCAN"),
        "{plans:?}"
    );
    assert_eq!(statements[0].params.first(), Some(&Value::Integer(1)));
}

#[tokio::test]
async fn a_trace_has_the_statement_of_a_total() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let query = r#"{"post": {"$select": {"title": true}, "$where": {"field": "id", "op": "gt", "value": 1}, "$page": {"first": 1, "total": true}}}"#;
    let request = Request::collection(Format::Json, query);
    let (body, statements) = traced(&mesh, &request, Trace::new().with_query_plans()).await;
    assert!(body.contains(r#""totalCount":2"#), "{body}");
    let counts: Vec<_> = statements.iter().map(|one| (one.path.as_str(), one.runs, one.rows)).collect();
    // The row after the page shows that another page follows.
    assert_eq!(counts, [("post", 1, 2), ("post", 1, 1)]);
    let total = &statements[1];
    assert!(total.sql.contains("COUNT(*)") && !total.query_plan.is_empty(), "{total:?}");
    assert_eq!(total.params.first(), Some(&Value::Integer(1)));
}
