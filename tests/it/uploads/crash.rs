//! The state after the server is killed between two steps of an upload.

mod steps;

use super::*;

#[test]
fn kill_while_receiving_leaves_nothing() {
    let files = Files::open();
    let whole = avatar(7, &[b'x'; 500_000]).bytes();
    let mut connection = files.server.connect();
    connection.write(&whole[..whole.len() / 2]);
    wait_until("the file is begun", || !files.pending().is_empty());
    let files = files.crash();
    assert_eq!((files.pending().len(), files.published(), files.avatar(7)), (0, vec![], Value::Null));
    assert_eq!(files.send(&avatar(7, &[b'x'; 500_000])).status, 200);
}

/// The write to the database waits for a lock that the test holds.
#[test]
fn killed_between_sealing_and_recording() {
    let files = Files::open();
    let lock = files.database.connect();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut connection = files.server.connect();
    connection.write(&avatar(7, b"hello").bytes());
    let sealed =
        |files: &Files| files.pending().iter().any(|name| name.starts_with(&encoding::sha256("hello")));
    wait_until("the file is sealed", || sealed(&files));
    assert_eq!(files.get(&key("hello")).status, 404);
    let files = {
        let Files { mut server, database } = files;
        server.signal("KILL");
        server.wait();
        lock.execute_batch("ROLLBACK").unwrap();
        Files { server: start(&database, ""), database }
    };
    assert_eq!((files.pending().len(), files.published(), files.avatar(7)), (0, vec![], Value::Null));
    assert_eq!(files.get(&key("hello")).status, 404);
}

/// Publishing fails, because a file has the name of the folder.
#[test]
fn killed_between_recording_and_publishing() {
    let files = Files::open();
    let obstacle = files.folder().join("sha256").join(&encoding::sha256("hello")[..2]);
    fs::write(&obstacle, "").unwrap();
    let reply = files.send(&avatar(7, b"hello"));
    assert_eq!((reply.status, files.avatar(7)), (200, json!(key("hello"))));
    assert_eq!(files.pending().len(), 1);
    fs::remove_file(&obstacle).unwrap();
    let files = files.crash();
    assert_eq!((files.pending().len(), files.published()), (0, vec![key("hello")]));
    assert_eq!(files.get(&key("hello")).text(), "hello");
}

/// Without a crash, a reader of the record gets the file.
#[test]
fn a_recorded_file_that_could_not_be_published_is_served() {
    let files = Files::open();
    let obstacle = files.folder().join("sha256").join(&encoding::sha256("hello")[..2]);
    fs::write(&obstacle, "").unwrap();
    assert_eq!(files.send(&avatar(7, b"hello")).status, 200);
    assert_eq!(files.get(&key("hello")).status, 500);
    fs::remove_file(&obstacle).unwrap();
    assert_eq!(files.get(&key("hello")).text(), "hello");
    assert_eq!(files.pending().len(), 0);
}

#[test]
fn two_servers_share_a_folder() {
    let files = Files::open();
    let whole = avatar(7, &[b'x'; 500_000]).bytes();
    let mut connection = files.server.connect();
    connection.write(&whole[..whole.len() / 2]);
    wait_until("the file is begun", || !files.pending().is_empty());
    // The second server recovers at start and skips active files.
    let other = start(&files.database, "");
    assert_eq!(files.pending().len(), 1);
    connection.write(&whole[whole.len() / 2..]);
    let reply = connection.read(false).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let url = reply.json()["url"].as_str().unwrap().to_owned();
    assert_eq!(other.send(&Request::new("GET", &url)).body.len(), 500_000);
}
