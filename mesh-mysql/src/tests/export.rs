//! Exports: all rows of one snapshot, part by part. `SPEC §16`

use mesh_tests::MariaDb;

use super::{REFRESH, Served, served, until};
use crate::Settings;

/// 1,700 parents, every third without a rank, each with none to four children.
const FAMILIES: &str = "
CREATE TABLE parents (id int PRIMARY KEY, `rank` int, text text NOT NULL);
CREATE TABLE children (id int PRIMARY KEY, parent_id int NOT NULL, FOREIGN KEY (parent_id) REFERENCES parents (id));
INSERT INTO parents SELECT seq, CASE WHEN seq % 3 > 0 THEN seq % 7 END, repeat('x', 1000) FROM seq_1_to_1700;
INSERT INTO children SELECT i.seq * 10 + n.seq, i.seq FROM seq_1_to_1700 i JOIN seq_1_to_4 n ON n.seq <= i.seq % 5;
";

const CHANGE: &str =
    "UPDATE parents SET text = 'changed', `rank` = 1; INSERT INTO children SELECT -id, id FROM parents";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_have_the_items_of_all_pages_in_one_snapshot() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
    let execute = |sql: &str| server.execute(sql);
    served::exports_have_the_items_of_all_pages_in_one_snapshot(&served, execute, FAMILIES, CHANGE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_whose_reader_is_gone_or_late_leaves_nothing_behind() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(FAMILIES);
    let served = Served::open(&server, &Settings::default()).await;
    served::an_export_whose_reader_is_gone_or_late_ends(&served).await;
    let open = format!("{REFRESH}; SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    until("the transactions have ended", async || server.query(&open).as_deref() == Some("0")).await;
}
