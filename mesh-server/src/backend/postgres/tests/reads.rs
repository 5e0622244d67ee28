//! How do reads share connections, and how do they end?

use std::time::{Duration, Instant};

use mesh_plan::{Context, Error, Request, ResolveError};
use mesh_ql::Format;

use super::super::Settings;
use super::{BLOG, Cluster, Served, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_reads_are_one_statement() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    for pooler in [false, true] {
        let served = Served::open(&cluster, &Settings { pooler, ..Settings::default() }).await;
        let query = "{ post title author { name manager { name } } comments { body } tags { label posts { title } } }";
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
        assert!(served.database.idle_connections().0 >= 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_that_do_not_fit_say_so() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE n (id int PRIMARY KEY, big bigint); INSERT INTO n SELECT i, 9223372036854775807 FROM generate_series(1, 2) i");
    let served = Served::open(&cluster, &Settings::default()).await;
    let sum = r#"{"n": {"$select": {}, "$aggregate": {"s": {"fn": "sum", "field": "big"}}}}"#;
    let result = served.collection(sum).await;
    assert!(matches!(result, Err(Error::Resolve(ResolveError::SumOverflow))), "{result:?}");
}

/// A lock holds up all reads of a table: more of them than there are connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_bounded_and_come_back() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let settings = Settings {
        connections: 2,
        wait: Duration::from_millis(100),
        statement_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let served = Served::open(&cluster, &settings).await;
    let locker = served.database.writes.connect().await.unwrap();
    locker.client().batch_execute("BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let start = Instant::now();
    let read = || served.point("1", "{ post title }");
    let (one, two, three) = tokio::join!(read(), read(), read());
    let failures: Vec<_> = [one, two, three].into_iter().filter_map(Result::err).collect();
    let busy = failures.iter().filter(|it| matches!(it, Error::Resolve(ResolveError::Busy))).count();
    let late = failures.iter().filter(|it| matches!(it, Error::Resolve(ResolveError::TimedOut))).count();
    assert_eq!((busy, late), (1, 2), "{failures:?}");
    assert!(start.elapsed() < Duration::from_secs(3), "the database ends what takes too long");

    // A client that goes away takes its statement with it.
    let plan = served.mesh.plan(&Request::point(Format::Ql, "{ post title }", "1")).unwrap();
    let going =
        tokio::time::timeout(Duration::from_millis(50), served.mesh.read(plan, Context::default())).await;
    assert!(going.is_err());
    until(Duration::from_secs(5), "no statement waits any more", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        cluster.query(waiting).as_deref() == Some("0")
    })
    .await;
    until(Duration::from_secs(5), "all slots are free", async || served.database.pool.free() == 2).await;
    locker.client().batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(served.point("1", "{ post title }").await.unwrap(), r#"{"title":"Dawn"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_are_out_of_date_are_prepared_again() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Served::open(&cluster, &Settings::default()).await;
    let query = "{ post title likes }";
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
    cluster.execute("ALTER TABLE posts ALTER likes TYPE bigint");
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
    cluster.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mesh-server'",
    );
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
}
