//! Scripts of reads. `SPEC §18.4`

use super::{File, mesh};

#[path = "../../../mesh-backend/tests/engines/snapshots.rs"]
mod engines;

const POSTS: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO posts SELECT i, i FROM n";

#[tokio::test]
async fn reads_of_a_script_see_one_snapshot() {
    let file = File::new(POSTS);
    let (mesh, connection) = (mesh(&file.database()), parking_lot::Mutex::new(file.connect()));
    let execute = move |sql: &str| connection.lock().execute_batch(sql).unwrap();
    engines::reads_of_a_script_see_one_snapshot(&mesh, execute).await;
}
