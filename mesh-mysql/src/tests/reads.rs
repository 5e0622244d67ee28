//! Reads of nested records, deadlines and cancellation.

use std::time::{Duration, Instant};

use mesh_plan::{Context, Request, ResolveError};
use mesh_ql::Format;
use mesh_tests::MariaDb;

use super::{BLOG, Served, until};
use crate::{Backend as _, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_reads_are_one_statement() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let query =
        "{ post title author { name manager { name } } comments { body } tags { label posts { title } } }";
    let body = served.point("1", query).await.unwrap();
    assert_eq!(
        body,
        r#"{"title":"Dawn","author":{"name":"Ada","manager":null},"comments":[{"body":"first"},{"body":"second"}],"tags":[{"label":"code","posts":[{"title":"Dawn"}]},{"label":"food","posts":[{"title":"Dawn"},{"title":"Bread"}]}]}"#
    );
    let query = r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true,
        "comments": {"$select": {"id": true}, "$page": {"first": 1}, "$orderBy": [{"field": "id", "direction": "desc"}]}},
        "$where": {"field": "likes", "op": "gt", "value": 1}}}, "$page": {"first": 2}}}"#;
    let body = served.collection(query).await.unwrap();
    let items = r#"{"items":[{"name":"Ada","posts":[{"title":"Dawn","comments":[{"id":2}]}]},{"name":"Bo","posts":[{"title":"Bread","comments":[{"id":3}]}]}],"#;
    assert!(body.starts_with(items), "{body}");
    assert_eq!(served.database.usage().idle, 1, "one connection was enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_beyond_its_deadline_is_ended_in_the_database() {
    let Some(server) = MariaDb::start() else { return };
    server.execute("CREATE VIEW slow AS SELECT 1 AS id, SLEEP(600) AS value");
    let served = Served::open(&server, &Settings::default()).await;
    let request = Request::collection(Format::Ql, "{ slow value }");
    let plan = served.mesh.plan(&request).unwrap();
    let mut context = Context::default();
    context.deadline = Some(Instant::now() + Duration::from_millis(300));
    let result = served.mesh.read(&plan, &context).await;
    assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
    let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%slow%' AND INFO NOT LIKE '%PROCESSLIST%'";
    until("the statement has ended", async || server.query(running).as_deref() == Some("0")).await;
    until("the slot is free", async || served.database.usage().free == Settings::default().connections).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_for_reads_cannot_write() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let mut connection = served.database.pool.take(false).await.unwrap();
    let written = connection.execute("DELETE FROM comments").await;
    assert!(
        written.is_err_and(|error| error.to_string().contains("1792")),
        "READ ONLY is the mode of the session"
    );
}
