//! Start, connections and shutdown of the program.

use std::io::{Read, Write};
use std::net::TcpStream;

use mesh_tests::{Database, Request, Server};
use serde_json::json;

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
fn an_active_request_finishes_during_a_shutdown() {
    let mut server = Server::with_database(&Database::blog());
    let body = json!({"query": POST, "id": 1}).to_string();
    let request = Request::post("/mesh", &body).header("Expect", "100-continue");
    let bytes = request.bytes();
    let (head, body) = bytes.split_at(bytes.len() - body.len());
    let mut connection = server.connect();
    connection.write(head);
    // The interim reply shows that the server is reading the body.
    assert_eq!(connection.read(false).expect("an interim reply").status, 100);
    server.signal("TERM");
    connection.write(body);
    let reply = connection.read(false).expect("the reply");
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":1}"#));
    assert_eq!(server.wait().code(), Some(0));
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
fn incomplete_requests_do_not_affect_others() {
    let server = Server::with_database(&Database::blog());
    let get = first().bytes();
    let post = Request::post("/mesh", &json!({"query": POST}).to_string()).bytes();
    for bytes in [&get, &post] {
        for length in (1..bytes.len()).step_by(7) {
            let mut connection = server.connect();
            connection.write(&bytes[..length]);
        }
    }
    assert_eq!(server.send(&first()).text(), r#"{"id":1}"#);
    // A request that arrives byte by byte is answered.
    let mut connection = server.connect();
    for byte in &post {
        connection.write(&[*byte]);
    }
    assert_eq!(connection.read(false).expect("a reply").status, 200);
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
fn many_clients_at_once_get_their_own_answers() {
    let server = Server::with_database(&Database::blog());
    std::thread::scope(|scope| {
        for client in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let mut connection = server.connect();
                for round in 0..20 {
                    let id = (client + round) % 4 + 1;
                    let request = Request::get(&format!("/mesh/post/{id}"), POST);
                    assert_eq!(connection.send(&request).text(), format!(r#"{{"id":{id}}}"#));
                }
            });
        }
    });
}
