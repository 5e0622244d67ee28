//! Exports: all rows of one snapshot, part by part. `SPEC §16`

use mesh_backend::pool::RowBudget;
use mesh_tests::Cluster;

use super::{Served, Settings, served, until};

#[tokio::test]
async fn exports_have_the_items_of_all_pages_in_one_snapshot() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(served::FAMILIES);
    let served = Served::open(&cluster, &Settings::default()).await;
    let execute = |sql: &str| cluster.execute(sql);
    served::exports_have_the_items_of_all_pages_in_one_snapshot(&served, execute).await;
}

#[tokio::test]
async fn an_export_whose_reader_is_gone_or_late_leaves_nothing_behind() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(served::FAMILIES);
    let served = Served::open(&cluster, &Settings::default()).await;
    served::an_export_whose_reader_is_gone_or_late_ends(&served).await;
    let open =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
        AND pid <> pg_backend_pid()";
    until("the transactions have ended", async || {
        let rows = served.database.pool.read(open, &[], RowBudget::UNLIMITED).await.unwrap();
        rows[0].get::<_, i64>(0) == 0
    })
    .await;
}
