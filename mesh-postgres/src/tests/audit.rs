//! The audit log in a table, with the same cases as in mesh-sqlite.

use super::Cluster;
use crate::{Backend as _, Database, Settings};

#[tokio::test]
async fn entries_are_inserted_with_their_time_and_event() {
    let Some(cluster) = Cluster::start() else { return };
    let database = Database::connect(&cluster.url(), &Settings::default()).await.unwrap();
    let missing = database.audit_table("my audit").await.unwrap_err().to_string();
    let (_, create) = missing.split_once("create it with").unwrap();
    cluster.execute(create);
    let table = database.audit_table("my audit").await.unwrap();
    let entries = r#"[{"time":"2026-01-02T03:04:05.678Z","event":"write","user":"it's"},
        {"time":"2026-01-02T03:04:06Z","event":"login"}]"#;
    table.append(entries).await.unwrap();
    assert!(table.append(r#"[{"time":"2026-01-02T03:04:05.678Z","event":"a"},{"time":"?"}]"#).await.is_err());
    let rows = cluster.query(
        "SELECT string_agg(extract(epoch FROM time)::text || ' ' || event || ' ' || (entry->>'user' IS NULL), ',' ORDER BY time)
         FROM \"my audit\"",
    );
    assert_eq!(rows.as_deref(), Some("1767323045.678000 write false,1767323046.000000 login true"));
    cluster.execute("DROP TABLE \"my audit\"");
    assert!(table.append("[{}]").await.is_err());
}
