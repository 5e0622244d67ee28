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
fn invalid_uploads_are_refused_and_leave_nothing() {
    let files = Files::open();
    let file = |bytes: &[u8]| part("file", "text/plain", bytes);
    let right = statement("user", "avatar", b"x");
    let many = [vec![file(b"x")], vec![part("meta", "application/json", b"{}"); 10_000]].concat();
    let headers =
        format!("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n{}", "X-A: b\r\n".repeat(20_000));
    let cases: Vec<(Request, Vec<u8>, u16, &str)> = vec![
        (head("/user/7/avatar", &right), body(&[file(b"y")]), 403, "CONTENT_HASH_MISMATCH"),
        (head("/user/7/avatar", &right), body(&[part("file", "text/html", b"x")]), 415, "text/html"),
        (head("/user/9/avatar", &right), body(&[file(b"x")]), 404, "NotFound"),
        (head("/user/7/banner", &right), body(&[file(b"x")]), 400, "ValidationError"),
        (head("/user/7/name", &statement("user", "name", b"x")), body(&[file(b"x")]), 400, "takes no files"),
        (head("/user/7/avatar", &right), body(&many), 400, "'meta' is repeated"),
        (head("/user/7/avatar", &right), headers.into_bytes(), 400, "headers of a part are longer"),
        (head("/user/7/avatar", &right), vec![b'-'; 300_000], 400, "longer"),
        (head("/user/7/avatar", &right), part("file", "text/plain", b"x"), 400, "malformed"),
        (head("/user/7/avatar", &right), body(&[file(b"x"), file(b"x")]), 400, "'file' is repeated"),
    ];
    for (request, bytes, wanted, word) in cases {
        let reply = files.send(&request.body(bytes));
        assert!(
            reply.status == wanted && reply.text().contains(word),
            "{} {}, not {word}",
            reply.status,
            reply.text()
        );
        files.settled();
    }
    assert_eq!((files.published(), files.avatar(7)), (vec![], Value::Null));
}

#[test]
fn a_content_length_over_the_limit_is_refused_before_the_body() {
    let files = Files::open();
    for length in ["2000000", "1152921504606846976"] {
        let mut connection = files.server.connect();
        let request =
            head("/user/7/avatar", &statement("user", "avatar", b"x")).header("Content-Length", length);
        connection.write(&request.bytes());
        let reply = connection.read(false).unwrap();
        assert_eq!(reply.status, 413, "{}", reply.text());
    }
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

#[test]
fn file_names_never_become_paths() {
    let files = Files::open();
    assert_eq!(files.send(&avatar(7, b"x")).status, 200);
    // All files beside the store except those of the database.
    let outside = || {
        let entries = fs::read_dir(files.database.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with("data.db")).collect();
        names.sort();
        names
    };
    let before = outside();
    for name in ["../../../etc/passwd", "/etc/passwd", "a\0b", "..\\x", "%2e%2e/x", "pending/1-1.part"] {
        let file = format!(
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\nx\r\n--b--\r\n"
        );
        let reply = files.send(&head("/user/7/banner", r#"{"user":{"banner":{"upload":true}}}"#).body(file));
        assert!([200, 400].contains(&reply.status), "{name:?}: {}", reply.text());
    }
    assert_eq!(files.published(), [key("x")]);
    assert_eq!(outside(), before);
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
