//! Reads that are expensive by design.

use std::time::{Duration, Instant};

use mesh_plan::{Context, Request, ResolveError};
use mesh_ql::Format;
use serde_json::{Value, json};

use super::shared::{Neighbors, start};
use super::{Cluster, until};
use crate::{Backend as _, Settings};

/// Every post has every tag.
const DENSE: &str = "
INSERT INTO posts SELECT n, 'post ' || n, n % 10, n % 3 + 1 FROM generate_series(10, 200) AS n;
INSERT INTO tags SELECT n, 'tag ' || n FROM generate_series(10, 200) AS n;
INSERT INTO post_tags SELECT p.id, t.id FROM posts AS p, tags AS t ON CONFLICT DO NOTHING;
ANALYZE;
";

const MANY: &str = "INSERT INTO posts SELECT n, 'post', n % 10, n % 3 + 1 FROM generate_series(1000, 200000) AS n; ANALYZE posts";

const ACTIVE: &str = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'mesh-server' \
    AND clock_timestamp() - query_start > '300 ms'";

/// Returns conditions of the maximum depth, each of which joins all pairs.
fn nested() -> Value {
    let innermost = json!({"field": "label", "op": "ne", "value": "no tag"});
    (0..7).fold(innermost, |condition, depth| {
        let relation = if depth % 2 == 0 { "tags" } else { "posts" };
        json!({"relation": relation, "op": "every", "where": condition})
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expensive_reads_end_at_their_deadline_and_do_not_disturb_light_ones() {
    let Some(cluster) = Cluster::start() else { return };
    let settings = Settings::default();
    let served = start(&cluster, &settings).await;
    for statement in DENSE.split_inclusive(';') {
        cluster.execute(statement);
    }
    let order = json!([{"relation": "posts", "aggregate": {"fn": "count"}, "direction": "desc"}]);
    let nested = json!({"post": {"$select": {"id": true}, "$where": nested()}});
    let sorted = json!({"user": {"$select": {"id": true}, "$orderBy": order}});
    let neighbors = Neighbors::start(&served);
    for (query, before) in [(nested, "SELECT 1"), (sorted, MANY)] {
        cluster.execute(before);
        let query = query.to_string();
        let plan = served.mesh.plan(&Request::collection(Format::Json, &query)).unwrap();
        let mut context = Context::default();
        context.deadline = Some(Instant::now() + Duration::from_millis(10));
        let result = served.mesh.read(&plan, &context).await;
        assert!(matches!(result, Err(ResolveError::TimedOut)), "{query} {:?}", result.err());
        neighbors.wait_for_reads().await;
        let ended = async || cluster.query(ACTIVE).as_deref() == Some("0");
        until("the database has ended the statement", ended).await;
    }
    neighbors.end().await;
    until("all slots are free", async || served.database.usage().free == settings.connections).await;
}
