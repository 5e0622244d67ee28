//! Deadlines and cancellation of reads.

use std::time::{Duration, Instant};

use mesh_plan::{Context, Request, ResolveError};
use mesh_ql::Format;
use mesh_tests::MariaDb;

use super::{BLOG, Served, until};
use crate::{Backend as _, Settings};

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
