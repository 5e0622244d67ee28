//! The audit log in a table.

use crate::Backend as _;
use crate::tests::File;

#[tokio::test]
async fn entries_are_inserted_with_their_time_and_event() {
    let file = File::new("");
    let missing = file.database().audit_table("my audit").await.unwrap_err().to_string();
    let (_, create) = missing.split_once("create it with").unwrap();
    file.write(create);
    let table = file.database().audit_table("my audit").await.unwrap();
    table
        .append(r#"[{"time":"t1","event":"write","user":"it's"},{"time":"t2","event":"login"}]"#)
        .await
        .unwrap();
    assert!(
        table.append("[{\"time\":\"t3\",\"event\":\"a\"},{\"time\":\"t4\"}]").await.is_err(),
        "an event is missing"
    );
    let rows = file.connect();
    let mut rows = rows.prepare("SELECT time || ' ' || event || ' ' || entry FROM \"my audit\"").unwrap();
    let rows: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        rows,
        [
            r#"t1 write {"time":"t1","event":"write","user":"it's"}"#,
            r#"t2 login {"time":"t2","event":"login"}"#
        ]
    );
    file.write("DROP TABLE \"my audit\"");
    assert!(table.append(r#"[{"time":"t3","event":"write"}]"#).await.is_err());
}
