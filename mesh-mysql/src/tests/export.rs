//! Exports: all rows of one snapshot, part by part. `SPEC §16`

use mesh_tests::MariaDb;

use super::{REFRESH, Served, served, until};
use crate::Settings;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_have_the_items_of_all_pages_in_one_snapshot() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(served::FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
    let execute = |sql: &str| server.execute(sql);
    served::exports_have_the_items_of_all_pages_in_one_snapshot(&served, execute).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_whose_reader_is_gone_or_late_leaves_nothing_behind() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(served::FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
    served::an_export_whose_reader_is_gone_or_late_ends(&served).await;
    let open = format!("{REFRESH}; SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    until("the transactions have ended", async || server.query(&open).as_deref() == Some("0")).await;
}
