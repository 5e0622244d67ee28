//! Limits on the resources that one client holds: connections, event streams, and unread replies. `SPEC §12.6`

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

use mesh_tests::{
    Connection, Database, PATIENCE, Request, Response, Server, connect_from, encode, wait_until,
};

use crate::events::stream::Stream;
use crate::support::sessions::{Deployment, Session, why};

const ADA: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const BO: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
/// The size of a record that is larger than any socket buffer.
const LARGE: usize = 16 << 20;

fn serve(settings: &str) -> (Server, Database) {
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", settings);
    (Server::start(&["--config", &config, "--database", &database.url()]), database)
}

fn read() -> Request {
    Request::get("/mesh/post/1", TITLE)
}

fn events() -> Request {
    Request::get("/mesh/post/1/events", TITLE)
}

fn forwarded(request: Request, client: &str) -> Request {
    request.header("X-Forwarded-For", client)
}

/// Sends a request over a new connection of a client. Returns the connection with the status of the reply; `None` if the
/// server closes the connection instead.
fn begin(client: Ipv4Addr, server: &Server, request: &Request) -> Option<(TcpStream, u16)> {
    let mut socket = connect_from(client, server.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = socket.write_all(&request.bytes());
    let mut line = [0; 12];
    match socket.read_exact(&mut line) {
        Ok(()) => Some((socket, String::from_utf8_lossy(&line[9..]).parse().unwrap())),
        Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => None,
        Err(error) => panic!("neither a reply nor the end of the connection: {error}"),
    }
}

/// Returns the status of a request over a new connection, 0 if the server closes the connection.
fn status(client: Ipv4Addr, server: &Server, request: &Request) -> u16 {
    begin(client, server, request).map_or(0, |(_, status)| status)
}

fn refusal(server: &Server, request: &Request) -> (u16, String) {
    let reply: Response = server.send(request);
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    why(&reply)
}

#[test]
fn streams_of_one_address_do_not_lock_others_out() {
    let (server, _database) = serve("[limits]\nconnections = 200\n");
    let streams: Vec<_> = (0..200).map(|_| begin(ADA, &server, &events())).collect();
    let open = streams.iter().flatten().filter(|(_, status)| *status == 200).count();
    assert_eq!(open, 100, "streams of one address");
    for client in [ADA, BO] {
        assert_eq!(status(client, &server, &read()), 200, "{client}");
    }
}

#[test]
fn idle_connections_of_one_address_do_not_lock_others_out() {
    let (server, _database) = serve("[limits]\nconnections = 40\n");
    let idle: Vec<_> = (0..60).map(|_| begin(ADA, &server, &read())).collect();
    assert_eq!(idle.iter().flatten().count(), 30, "a quarter of the connections is reserved for others");
    assert_eq!(status(BO, &server, &read()), 200);
    drop(idle);
    wait_until("closed connections no longer count", || status(ADA, &server, &read()) == 200);
}

/// Attack without a session: one client that takes all connections or streams.
#[test]
fn connections_of_an_address_are_limited() {
    let (server, _database) = serve("[limits]\nconnections_per_address = 5\n");
    let mut open: Vec<_> = (0..7).filter_map(|_| begin(ADA, &server, &read())).collect();
    assert_eq!(open.len(), 5);
    let mut other: Vec<_> = (0..7).filter_map(|_| begin(BO, &server, &read())).collect();
    assert_eq!(other.len(), 5);
    open.truncate(4);
    wait_until("another connection is served", || {
        other.extend(begin(ADA, &server, &read()));
        other.len() == 6
    });
    assert_eq!(status(ADA, &server, &read()), 0);
}

#[test]
fn requests_that_a_proxy_forwards_count_for_their_client() {
    let (server, _database) =
        serve("trusted_proxies = ['127.0.0.1']\n[limits]\nconnections_per_address = 2\n");
    let one = "2001:db8::1";
    let stream = || begin(ADA, &server, &forwarded(events(), one)).unwrap();
    let streams = [stream(), stream()];
    assert!(streams.iter().all(|(_, status)| *status == 200));
    for same in [one, "2001:db8::ffff:2"] {
        let refusal = refusal(&server, &forwarded(read(), same));
        assert_eq!(refusal, (429, "RateLimitError".to_owned()), "{same}");
    }
    assert_eq!(server.send(&forwarded(read(), "2001:db8:0:1::1")).status, 200, "another network");
    let proxy: Vec<_> = (0..6).map(|_| begin(ADA, &server, &read()).unwrap().1).collect();
    assert_eq!(proxy, [200; 6], "the proxy itself has no limit");
    drop(streams);
    wait_until("ended requests no longer count", || server.send(&forwarded(read(), one)).status == 200);
}

#[test]
fn streams_of_an_address_are_limited() {
    let (server, _database) = serve("[limits]\nstreams_per_address = 3\n");
    let mut streams: Vec<_> = (0..3).map(|_| begin(ADA, &server, &events()).unwrap()).collect();
    assert!(streams.iter().all(|(_, status)| *status == 200));
    assert_eq!(refusal(&server, &events()), (429, "RateLimitError".to_owned()));
    assert_eq!(status(BO, &server, &events()), 200);
    assert_eq!(gauge(&server, "mesh_client_most{held=\"streams\"}"), 3);
    assert!(gauge(&server, "mesh_client_most{held=\"connections\"}") >= 3);
    streams.pop();
    wait_until("an ended stream no longer counts", || status(ADA, &server, &events()) == 200);
}

#[test]
fn streams_of_a_session_are_limited() {
    let deployment = Deployment::new("[limits]\nstreams_per_session = 2\n");
    let server = deployment.start();
    let [first, second] = [Session::begin(&server), Session::begin(&server)];
    let stream = |session: &Session| begin(ADA, &server, &session.sign(events(), &encode(TITLE))).unwrap();
    let streams = [stream(&first), stream(&first), stream(&second)];
    assert!(streams.iter().all(|(_, status)| *status == 200));
    let third = first.sign(events(), &encode(TITLE));
    assert_eq!(refusal(&server, &third), (429, "RateLimitError".to_owned()));
    assert_eq!(stream(&second).1, 200);
}

/// Returns the value of a sample of `/metrics`.
fn gauge(server: &Server, sample: &str) -> usize {
    let text = server.send(&Request::new("GET", "/metrics")).text();
    let value = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {sample} in {text}")).parse().unwrap()
}

/// A server with a large record.
fn serve_large() -> (Server, Database) {
    let (server, database) = serve("");
    let update = format!("UPDATE posts SET title = printf('%.*c', {LARGE}, 'x') WHERE id = 2");
    database.connect().execute_batch(&update).unwrap();
    (server, database)
}

fn large() -> Request {
    Request::get("/mesh/post/2", TITLE)
}

#[test]
fn unread_replies_change_no_answer_and_make_room_for_others() {
    let (server, _database) = serve_large();
    let bound = 64 << 20;
    let unread: Vec<_> = (0..2 * bound / LARGE).map(|_| begin(ADA, &server, &large()).unwrap()).collect();
    assert!(unread.iter().all(|(_, status)| *status == 200));
    wait_until("slow readers are closed", || gauge(&server, "mesh_unsent_bytes") <= bound);
    for client in [ADA, BO] {
        let mut connection = Connection::from_stream(connect_from(client, server.address).unwrap());
        let reply = connection.send(&large());
        assert_eq!((reply.status, reply.body.len() > LARGE), (200, true), "{client}");
    }
    drop(unread);
    wait_until("replies that are sent no longer count", || gauge(&server, "mesh_unsent_bytes") == 0);
}

#[test]
fn event_streams_that_differ_in_white_space_share_a_reading() {
    let (server, database) = serve("");
    let update = "UPDATE posts SET title = printf('%.*c', 2000000, 'x') WHERE id = 1";
    database.connect().execute_batch(update).unwrap();
    let before = server.memory();
    let streams: Vec<_> = (0..100)
        .map(|spaces| {
            let query = format!(r#"{{"post":{{"$select":{{{}"title":true}}}}}}"#, " ".repeat(spaces));
            begin(ADA, &server, &Request::get("/mesh/post/1/events", &query)).unwrap()
        })
        .collect();
    assert!(streams.iter().all(|(_, status)| *status == 200));
    let metrics = server.send(&Request::new("GET", "/metrics")).text();
    assert!(
        metrics.contains("mesh_event_streams 100\n") && metrics.contains("mesh_event_topics 1\n"),
        "{metrics}"
    );
    let grown = server.memory().saturating_sub(before);
    // A copy for each stream would take 200 MB.
    assert!(grown < 60 << 20, "{grown} bytes for 100 unread streams");
}

#[test]
fn large_data_is_not_streamed() {
    let (server, _database) = serve_large();
    let stream = Request::get("/mesh/post/2/events", TITLE);
    let reply = server.send(&stream);
    assert_eq!(why(&reply), (400, "ValidationError".to_owned()));
    assert!(reply.text().contains("select less"), "{}", reply.text());
}

#[test]
fn a_stream_gets_no_error_because_of_another_reader_of_the_record() {
    let (server, database) = serve_large();
    let connection = database.connect();
    let change = |letter: char| {
        let update = format!("UPDATE posts SET title = printf('%.*c', 2000000, '{letter}') WHERE id = 1");
        connection.execute_batch(&update).unwrap();
    };
    change('a');
    // The attacker asks first, so the reading is created for it, and then leaves another reply unread.
    let stream = begin(BO, &server, &events()).unwrap();
    let mut honest = Stream::try_open(server.address, &events()).unwrap();
    assert!(honest.data().contains("aaa"));
    let unread = begin(BO, &server, &large()).unwrap();
    assert_eq!([stream.1, unread.1], [200; 2]);
    for letter in ['b', 'c', 'd', 'e'] {
        change(letter);
        assert!(honest.data().contains(letter));
    }
}
