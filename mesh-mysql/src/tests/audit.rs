//! The audit log in a table, with the same cases as in mesh-sqlite.

use mesh_tests::MariaDb;

use crate::{Backend as _, Database, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_are_inserted_with_their_time_and_event() {
    let Some(server) = MariaDb::start() else { return };
    let database = Database::connect(&server.url(), &Settings::default()).await.unwrap();
    let missing = database.audit_table("my audit").await.unwrap_err().to_string();
    let (_, create) = missing.split_once("create it with").unwrap();
    server.execute(create);
    let table = database.audit_table("my audit").await.unwrap();
    let entries = r#"[{"time":"2026-01-02T03:04:05.678Z","event":"write","user":"it's"},
        {"time":"2026-01-02T03:04:06Z","event":"login"}]"#;
    table.append(entries).await.unwrap();
    let long =
        format!(r#"[{{"time":"2026-01-02T03:04:05.678Z","event":"a"}},{{"time":"{}"}}]"#, "?".repeat(50));
    assert!(table.append(&long).await.is_err(), "all entries are inserted, or none");
    let rows = server.query(
        "SELECT GROUP_CONCAT(CONCAT_WS(' ', time, event, JSON_VALUE(entry, '$.user') COLLATE utf8mb4_nopad_bin) ORDER BY time) FROM `my audit`",
    );
    assert_eq!(rows.as_deref(), Some("2026-01-02T03:04:05.678Z write it's,2026-01-02T03:04:06Z login"));
    server.execute("DROP TABLE `my audit`");
    assert!(table.append("[{}]").await.is_err());
}
