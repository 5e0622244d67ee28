//! Event streams over HTTP.

pub(crate) mod lists;
mod load;
pub(crate) mod stream;

use std::process::{Command, Stdio};

use mesh_tests::{Database, Request, Server};

use stream::Stream;

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

fn request(path: &str, query: &str) -> Request {
    Request::get(&format!("/mesh{path}"), query)
}

pub(crate) fn open(server: &Server, path: &str, query: &str) -> Stream {
    Stream::try_open(server.address, &request(path, query)).unwrap_or_else(|reply| panic!("{reply:?}"))
}

fn write(database: &Database, sql: &str) {
    database.connect().execute_batch(sql).unwrap();
}

#[test]
fn streams_end_with_the_server() {
    let mut server = Server::with_database(&Database::blog());
    let mut streams: Vec<_> = (0..20).map(|_| open(&server, "/post/1/events", TITLE)).collect();
    streams.iter_mut().for_each(|stream| drop(stream.data()));
    server.signal("TERM");
    for stream in &mut streams {
        stream.assert_ends();
    }
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn the_command_line_shell_wakes_a_stream() {
    if Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status().is_err() {
        mesh_tests::skip("sqlite3", "install Debian's sqlite3");
        return;
    }
    let database = Database::blog();
    let server = Server::with_database(&database);
    let mut stream = open(&server, "/post/1/events", TITLE);
    stream.data();
    let update = "UPDATE posts SET title = 'Shell' WHERE id = 1";
    assert!(Command::new("sqlite3").arg(database.file()).arg(update).status().unwrap().success());
    assert_eq!(stream.event().data, r#"{"title":"Shell"}"#);
}
