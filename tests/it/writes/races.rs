//! Writes that wait for a transaction in which the record, its parent or its target is hidden from the role.

use std::thread;

use super::links::Site;

/// A concurrent transaction, and the write that waits for it. Each write succeeds if the transaction is rolled back.
const CASES: &[(&str, &str, &str, &str)] = &[
    // The record itself.
    ("UPDATE posts SET tenant = 2 WHERE id = 3", "PUT", "/post/3", r#"{"title": "x"}"#),
    ("UPDATE posts SET tenant = 2 WHERE id = 3", "PUT", "/post/3", r#"{"ownerId": 1}"#),
    ("UPDATE posts SET tenant = 2 WHERE id = 3", "UPLOAD", "/post/3/image", r#"{"title": "x"}"#),
    ("UPDATE posts SET tenant = 2 WHERE id = 3", "PUT", "/post/3/owner", r#"{"entityId": 1}"#),
    ("UPDATE posts SET tenant = 2 WHERE id = 7", "DELETE", "/post/7/owner", ""),
    ("UPDATE posts SET tenant = 2 WHERE id = 7", "DELETE", "/user/1/posts/7", ""),
    ("UPDATE posts SET tenant = 2 WHERE id = 7", "DELETE", "/post/7", ""),
    ("UPDATE covers SET tenant = 2 WHERE id = 1", "PUT", "/post/3/cover", r#"{"entityId": 1}"#),
    // Its parent, while the record is locked.
    (
        "UPDATE users SET tenant = 2 WHERE id = 1; UPDATE posts SET title = 'y' WHERE id = 7",
        "DELETE",
        "/user/1/posts/7",
        "",
    ),
    (
        "UPDATE posts SET tenant = 2 WHERE id = 4; UPDATE post_labels SET label_id = label_id",
        "DELETE",
        "/post/4/labels/1",
        "",
    ),
    // Its target.
    (
        "UPDATE users SET tenant = 2 WHERE id = 1; UPDATE posts SET title = 'y' WHERE id = 3",
        "PUT",
        "/post/3/owner",
        r#"{"entityId": 1}"#,
    ),
    (
        "UPDATE users SET tenant = 2 WHERE id = 1; UPDATE posts SET title = 'y' WHERE id = 3",
        "PUT",
        "/post/3",
        r#"{"ownerId": 1}"#,
    ),
    (
        "UPDATE labels SET tenant = 2 WHERE id = 1; UPDATE post_labels SET label_id = label_id",
        "DELETE",
        "/post/4/labels/1",
        "",
    ),
    // Locks that keep the database from checking a foreign key.
    (
        "SELECT 1 FROM users WHERE id = 1 FOR UPDATE; UPDATE users SET tenant = 2 WHERE id = 1",
        "POST",
        "/user/1/posts",
        r#"{"title": "x"}"#,
    ),
    (
        "SELECT 1 FROM users WHERE id = 1 FOR UPDATE; UPDATE users SET tenant = 2 WHERE id = 1",
        "POST",
        "/post",
        r#"{"ownerId": 1}"#,
    ),
    (
        "SELECT 1 FROM posts WHERE id = 3 FOR UPDATE; UPDATE posts SET tenant = 2 WHERE id = 3",
        "POST",
        "/post/3/labels",
        r#"{"entityId": 1}"#,
    ),
    (
        "SELECT 1 FROM labels WHERE id = 1 FOR UPDATE; UPDATE labels SET tenant = 2 WHERE id = 1",
        "POST",
        "/post/3/labels",
        r#"{"entityId": 1}"#,
    ),
];

/// Restores the state before the case.
const UNDO: &str = "
UPDATE posts SET tenant = 1 WHERE id IN (3, 4, 7);
UPDATE users SET tenant = 1 WHERE id = 1;
UPDATE labels SET tenant = 1 WHERE id = 1;
UPDATE covers SET tenant = 1, post_id = NULL WHERE id = 1";

#[test]
fn a_record_that_is_hidden_while_the_write_waits_is_missing() {
    for site in Site::both() {
        let writer = site.login("writer");
        for (statements, method, path, body) in CASES {
            let request = || match *method {
                "UPLOAD" => site.upload(&writer, path, body),
                method => site.write(&writer, method, path, body),
            };
            let sqlite = site.sqlite.connect();
            let (status, reply) = if let Some(cluster) = &site.cluster {
                let other = cluster.transaction("site", statements);
                thread::scope(|scope| {
                    let waiting = scope.spawn(request);
                    cluster.wait_for_lock();
                    other.commit();
                    waiting.join().unwrap()
                })
            } else {
                let statements = statements.replace(" FOR UPDATE", "");
                sqlite.execute_batch(&format!("BEGIN IMMEDIATE; {statements}")).unwrap();
                thread::scope(|scope| {
                    let waiting = scope.spawn(request);
                    sqlite.execute_batch("COMMIT").unwrap();
                    waiting.join().unwrap()
                })
            };
            assert_eq!(status, 404, "{}: {method} {path} {body} beside {statements}: {reply}", site.name);
            match &site.cluster {
                Some(cluster) => cluster.transaction("site", UNDO).commit(),
                None => sqlite.execute_batch(UNDO).unwrap(),
            }
        }
    }
}
