//! Start, connections and shutdown of the program.

use std::io::{Read, Write};
use std::net::TcpStream;

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;

fn first() -> Request {
    Request::get("/mesh/post/1", POST)
}

#[test]
fn a_signal_ends_the_server_with_status_zero() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::with_database(&Database::blog());
        // Idle connections do not delay the shutdown.
        let mut idle = server.connect();
        assert_eq!(idle.send(&first()).status, 200);
        let _silent = server.connect();
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
        assert_eq!(server.rest_of_output(), "", "one line of output");
        assert!(idle.read(false).is_none(), "the connection is closed");
    }
}

#[test]
fn a_connection_remains_usable_after_errors() {
    let server = Server::with_database(&Database::blog());
    let mut connection = server.connect();
    for _ in 0..20 {
        for refused in [
            Request::new("GET", "/mesh/post"),
            Request::get("/mesh/post", "{"),
            Request::get("/mesh/nosuch", POST),
            Request::new("DELETE", "/mesh/post/1"),
            Request::post("/mesh", "nonsense"),
            Request::get("/nowhere", POST),
        ] {
            assert!((400..500).contains(&connection.send(&refused).status));
        }
        assert_eq!(connection.send(&first()).text(), r#"{"id":1}"#);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::with_database(&Database::blog());
    let mut connection = server.connect();
    let mut bytes = Request::get("/mesh/post/2", POST).bytes();
    bytes.extend(Request::post("/mesh", &json!({"query": POST, "id": 3}).to_string()).bytes());
    bytes.extend(Request::get("/mesh/post", "{").bytes());
    bytes.extend(first().bytes());
    connection.write(&bytes);
    let replies: Vec<_> = (0..4).map(|_| connection.read(false).expect("a reply")).collect();
    assert_eq!(replies[0].text(), r#"{"id":2}"#);
    assert_eq!(replies[1].text(), r#"{"id":3}"#);
    assert_eq!(replies[2].status, 400);
    assert_eq!(replies[3].text(), r#"{"id":1}"#);
    let last = connection.send(&first().header("Connection", "close"));
    assert_eq!(last.status, 200);
    assert!(connection.read(false).is_none(), "closed on request");
}

#[test]
fn an_http_1_0_client_is_answered() {
    let server = Server::with_database(&Database::blog());
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = String::from_utf8(first().bytes()).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(" 200 ") && reply.ends_with("\r\n\r\n{\"id\":1}"), "{reply}");
}

#[test]
fn connections_are_served_by_any_number_of_threads() {
    let blog = Database::blog();
    for threads in ["1", "3"] {
        let mut command =
            mesh_tests::command(&["serve", "--listen", "127.0.0.1:0", "--database", &blog.url()]);
        command.args(["--log", "off", "--threads", threads]);
        let mut server = Server::spawn(&mut command);
        let mut open: Vec<_> = (0..20).map(|_| server.connect()).collect();
        for (number, connection) in open.iter_mut().chain([&mut server.connect()]).enumerate() {
            let id = number % 4 + 1;
            let reply = connection.send(&Request::get(&format!("/mesh/post/{id}"), POST));
            assert_eq!(reply.text(), format!(r#"{{"id":{id}}}"#), "{threads} threads");
        }
        server.signal("TERM");
        assert_eq!(server.wait().code(), Some(0), "{threads} threads");
        assert!(
            open.iter_mut().all(|connection| connection.read(false).is_none()),
            "all connections are closed"
        );
    }
}

#[test]
fn a_cursor_is_valid_after_a_restart() {
    let blog = Database::blog();
    let query = |after: &Value| {
        let page = json!({"first": 2, "after": after});
        json!({"post": {"$select": {"id": true}, "$orderBy": [{"field": "likes", "direction": "desc"}], "$page": page}})
            .to_string()
    };
    let server = Server::with_database(&blog);
    let cursor = &server.get("/post", &query(&Value::Null)).json()["pageInfo"]["endCursor"];
    let second = server.get("/post", &query(cursor)).json();
    drop(server);
    assert_eq!(Server::with_database(&blog).get("/post", &query(cursor)).json(), second);
}
