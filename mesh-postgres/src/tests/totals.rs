//! Totals in responses with pages. `SPEC §14.6`

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mesh_tests::Cluster;
use serde_json::Value;

use super::{Served, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_total_belongs_to_the_snapshot_of_its_page() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE items (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, size integer NOT NULL);
         INSERT INTO items (size) VALUES (1);",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = served.database.writes.take(false).await.unwrap();
    let stopped = Arc::clone(&stop);
    let writing = tokio::spawn(async move {
        let mut size = 1;
        while !stopped.load(Ordering::Relaxed) {
            size = size % 20 + 1;
            let replace = format!(
                "BEGIN; DELETE FROM items; INSERT INTO items (size) SELECT {size} FROM generate_series(1, {size}); COMMIT"
            );
            writer.execute(&replace).await.unwrap();
        }
    });
    let mut sizes = HashSet::new();
    for page in [r#"{"first":50,"total":true}"#, r#"{"last":50,"total":true}"#] {
        let query = format!(r#"{{"item":{{"$select":{{"size":true}},"$page":{page}}}}}"#);
        for _ in 0..300 {
            let body: Value = serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
            let (items, total) = (body["items"].as_array().unwrap(), &body["pageInfo"]["totalCount"]);
            assert_eq!(*total, items.len(), "{body}");
            assert!(items.iter().all(|item| item["size"] == *total), "{body}");
            sizes.insert(items.len());
        }
    }
    stop.store(true, Ordering::Relaxed);
    writing.await.unwrap();
    assert!(sizes.len() > 1, "the writer has written meanwhile: {sizes:?}");
}
