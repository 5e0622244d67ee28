//! Orphaned files are found and removed; files with records stay.

use std::fs;

use mesh_tests::{Database, run};
use serde_json::{Value, json};

use super::{Files, SCHEMA, avatar, key};

/// Runs `mesh-server files` with the settings of a server. Returns its output and status.
fn files(database: &Database, arguments: &[&str]) -> (Vec<String>, String, Option<i32>) {
    let config = database.dir.path().join("mesh.toml").display().to_string();
    let url = database.url();
    let schema = database.dir.path().join("schema.json").display().to_string();
    let base = ["files", "--config", &config, "--database", &url, "--schema", &schema];
    let output = run(&[&base[..], arguments].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = text(&output.stdout).lines().map(str::to_owned).collect();
    (lines, text(&output.stderr), output.status.code())
}

/// Starts a server with files of two users, one of whom has uploaded two.
fn site() -> Files {
    let files = Files::open();
    for (id, bytes) in [(7, "first"), (7, "second"), (8, "other")] {
        assert_eq!(files.send(&avatar(id, bytes.as_bytes())).status, 200);
    }
    files.settled();
    files
}

#[test]
fn files_without_a_record_are_listed_and_removed() {
    let site = site();
    let (lines, said, status) = files(&site.database, &[]);
    assert_eq!((lines.len(), status), (0, Some(0)), "all of them are young: {said}");
    let (lines, said, status) = files(&site.database, &["--older-than", "0s"]);
    assert_eq!((lines.len(), status), (1, Some(0)), "{said}");
    assert!(lines[0].starts_with(&format!("{} 5 ", key("first"))), "{lines:?}");
    assert!(said.contains("1 of 3 files have no record, 5 bytes; --remove"), "{said}");
    assert_eq!(site.published().len(), 3, "looking removes nothing");

    let (lines, said, _) = files(&site.database, &["--older-than", "0s", "--remove"]);
    assert!(lines.len() == 1 && said.contains("1 removed"), "{lines:?} {said}");
    assert_eq!(site.get(&key("first")).status, 404);
    assert_eq!(
        (site.get(&key("second")).text(), site.get(&key("other")).text()),
        ("second".into(), "other".into())
    );
    assert!(site.pending().is_empty(), "{:?}", site.pending());
    // Equal bytes can be uploaded again, with their type.
    assert_eq!(site.send(&avatar(7, b"first")).status, 200);
    site.settled();
    let reply = site.get(&key("first"));
    assert_eq!((reply.text().as_str(), reply.header("content-type")), ("first", Some("text/plain")));
}

/// The command ignores policies: records that they hide still refer to their files.
#[test]
fn policies_do_not_hide_records_from_the_sweep() {
    let site = site();
    let mut hidden: Value = serde_json::from_str(SCHEMA).unwrap();
    hidden["policies"] = json!({"*": {"user": {"$where": {"field": "id", "op": "eq", "value": 7}}}});
    let _ = site.database.dir.write("schema.json", &hidden.to_string());
    let (lines, said, status) = files(&site.database, &["--older-than", "0s", "--remove"]);
    assert_eq!((lines.len(), status), (1, Some(0)), "{said}");
    assert_eq!(site.published().len(), 2);
}

#[test]
fn concurrent_uploads_are_safe_during_a_sweep() {
    let site = site();
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            for round in 0..120 {
                let bytes = format!("round {}", round % 3);
                assert_eq!(site.send(&avatar(7, bytes.as_bytes())).status, 200);
                // The sweep hides a file while it checks whether it has a record. Downloads do not notice.
                for _ in 0..3 {
                    let reply = site.get(&key(&bytes));
                    assert_eq!((reply.status, reply.text()), (200, bytes.clone()));
                }
            }
        });
        while !sender.is_finished() {
            let (_, said, status) = files(&site.database, &["--older-than", "0s", "--remove"]);
            assert_eq!(status, Some(0), "{said}");
        }
        sender.join().unwrap();
    });
    assert_eq!(site.avatar(7), json!(key("round 2")));
    assert_eq!(site.get(&key("round 2")).text(), "round 2");
}

#[test]
fn nothing_is_removed_without_a_store_or_file_field() {
    let site = site();
    let plain = r#"{"entities": {"user": {"fields": ["id", "name"]}}}"#;
    let _ = site.database.dir.write("schema.json", plain);
    let (lines, said, status) = files(&site.database, &["--older-than", "0s", "--remove"]);
    assert_eq!((lines.len(), status), (0, Some(2)), "{said}");
    assert!(said.contains("no field of the schema takes files"), "{said}");
    let (_, said, status) = files(&site.database, &["--older-than", "soon"]);
    assert!(status == Some(2) && said.contains("--older-than"), "{said}");
    fs::write(site.database.dir.path().join("mesh.toml"), "").unwrap();
    let (_, said, status) = files(&site.database, &[]);
    assert!(status == Some(2) && said.contains("uploads are off"), "{said}");
    assert_eq!(site.published().len(), 3);
}
