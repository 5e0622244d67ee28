//! The prepared statements of a connection, and their memory on the server.

use super::{BLOG, Cluster, Served};
use crate::Settings;

/// Number and size of the prepared statements of the session, and the memory of their plans.
const PREPARED: &str = "
SELECT (SELECT count(*) FROM pg_prepared_statements),
    (SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%')";

/// Runs reads with different statements on one connection, some of them often enough for a generic plan. Returns the
/// number of prepared statements afterwards, and their memory.
async fn prepared(cluster: &Cluster, statements: usize) -> (i64, i64) {
    let settings = Settings { connections: 1, statements, ..Settings::default() };
    let served = Served::open(cluster, &settings).await;
    for count in 1..=60 {
        let conditions = vec![r#"{"field":"id","op":"gt","value":0}"#; count].join(",");
        let filter = format!(r#"{{"and":[{conditions}]}}"#);
        let author = r#""author":{"$select":{"name":true}},"comments":{"$select":{"body":true}}"#;
        let query = format!(r#"{{"post":{{"$select":{{"id":true,{author}}},"$where":{filter}}}}}"#);
        for _ in 0..if count % 2 == 0 { 7 } else { 1 } {
            served.collection(&query).await.unwrap();
        }
    }
    let connection = served.database.pool.take(false).await.unwrap();
    let rows = connection.query_once(PREPARED, &[]).await.unwrap();
    (rows[0].get(0), rows[0].get(1))
}

#[tokio::test]
async fn statements_that_are_not_kept_are_closed() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let (all, memory) = prepared(&cluster, 1 << 30).await;
    assert_eq!(all, 30, "each of the 60 that came again");
    let bound = memory / 4;
    let (some, memory) = prepared(&cluster, bound as usize).await;
    // From PostgreSQL 16 on, plans take less of the memory, so that fewer are kept within a quarter of it.
    assert!(some > 0 && some < all / 2, "{some} of {all}");
    assert!(memory <= bound, "{memory} of {bound}: the estimate is an upper bound");
    assert_eq!(prepared(&cluster, 0).await.0, 0);
}
