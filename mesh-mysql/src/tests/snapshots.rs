//! Scripts of reads. `SPEC §18.4`

use std::sync::Arc;

use mesh_tests::MariaDb;

use super::{BLOG, Served};
use crate::Settings;

#[path = "../../../mesh-backend/tests/engines/snapshots.rs"]
mod engines;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_script_see_one_snapshot() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let server = Arc::new(server);
    let other = Arc::clone(&server);
    engines::reads_of_a_script_see_one_snapshot(&served.mesh, move |sql| other.execute(sql)).await;
}
