//! Clients that disconnect, declare wrong lengths or never finish.

use super::*;

#[test]
fn a_disconnected_client_leaves_nothing() {
    let files = Files::open();
    let bytes = [b'x'; 200_000];
    let whole = avatar(7, &bytes).bytes();
    for tenth in 1..10 {
        let mut connection = files.server.connect();
        connection.write(&whole[..whole.len() * tenth / 10]);
        if tenth > 2 {
            wait_until("the file is begun", || !files.pending().is_empty());
        }
        drop(connection);
        files.settled();
    }
    // Send all but the last byte, and then half-close the connection.
    let mut connection = files.server.connect();
    connection.write(&whole[..whole.len() - 1]);
    connection.finish();
    let reply = connection.read(false);
    assert!(reply.is_none_or(|reply| reply.status == 400));
    files.settled();
    assert_eq!((files.published(), files.avatar(7)), (vec![], Value::Null));
    assert_eq!(files.send(&avatar(7, &bytes)).status, 200);
}

#[test]
fn a_wrong_content_length_is_detected() {
    let files = Files::open();
    let parts = body(&[part("file", "text/plain", b"hello")]);
    let request = |length: usize| {
        let head = head("/user/7/avatar", &statement("user", "avatar", b"hello"));
        [head.header("Content-Length", length.to_string()).bytes(), parts.clone()].concat()
    };
    // Too small: the form is truncated, and the rest is not a request.
    let mut connection = files.server.connect();
    connection.write(&request(parts.len() - 4));
    assert_eq!(connection.read(false).unwrap().status, 400);
    // Too large, and the client disconnects.
    let mut connection = files.server.connect();
    connection.write(&request(parts.len() + 10));
    connection.finish();
    assert!(connection.read(false).is_none_or(|reply| reply.status == 400));
    files.settled();
    assert_eq!((files.published(), files.avatar(7)), (vec![], Value::Null));
}

#[test]
fn a_client_that_sends_too_much_receives_the_error() {
    let files = Files::open();
    let mut connection = files.server.connect();
    let request = head("/user/7/avatar", r#"{"user":{"avatar":{"upload":true}}}"#);
    connection.write(&request.header("Transfer-Encoding", "chunked").bytes());
    let start = part("file", "text/plain", &[b'x'; 65_536]);
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    connection.write(&chunk(&start[..start.len() - 2]));
    for _ in 0..500 {
        connection.write(&chunk(&[b'x'; 65_536]));
    }
    let reply = connection.read(false).expect("the reply comes through although the body was not read");
    assert_eq!(reply.status, 413);
    files.settled();
}

/// A link in the store does not lead out of it, and does not pass for a stored file.
#[cfg(unix)]
#[test]
fn links_in_the_store_are_not_followed() {
    let files = Files::open();
    let secret = files.database.dir.write("secret.txt", "of the machine");
    let stored = files.folder().join(key("of the machine"));
    fs::create_dir_all(stored.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&secret, &stored).unwrap();
    assert_eq!(files.get(&key("of the machine")).status, 404);
    assert_eq!(files.send(&avatar(7, b"of the machine")).status, 200);
    let reply = files.get(&key("of the machine"));
    assert_eq!((reply.status, reply.text().as_str()), (200, "of the machine"));
    assert!(!fs::symlink_metadata(&stored).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "of the machine");
}
