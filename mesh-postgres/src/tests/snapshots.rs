//! Scripts of reads. `SPEC §18.4`

use std::sync::Arc;

use mesh_tests::Cluster;

use super::{BLOG, Served, Settings};

#[path = "../../../mesh-backend/tests/engines/snapshots.rs"]
mod engines;

#[tokio::test]
async fn reads_of_a_script_see_one_snapshot() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Served::open(&cluster, &Settings::default()).await;
    let cluster = Arc::new(cluster);
    let other = Arc::clone(&cluster);
    engines::reads_of_a_script_see_one_snapshot(&served.mesh, move |sql| other.execute(sql)).await;
}
