//! A captured request with a bound signature is accepted once by a deployment, whatever happens to its servers. `SPEC §7.9`

use std::time::UNIX_EPOCH;

use mesh_tests::{Request, Server, encode, wait_for};

use crate::support::sessions::{Deployment, Session, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

/// Deviations of the clocks of clients, and of servers relative to each other, in seconds within the replay window of 60.
const SKEWS: [i64; 5] = [0, -20, 20, -50, 50];

fn seconds() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// Signs a read with a clock that deviates by `skew` seconds.
fn signed(session: &Session, nonce: &str, skew: i64) -> Request {
    let time = seconds().checked_add_signed(skew).unwrap();
    let message = format!("{}\nGET\n/mesh/post/1\njson\n{time}\n{nonce}", encode(TITLE));
    let request = session.sign(Request::get("/mesh/post/1", TITLE), &message);
    request.header("X-Mesh-Timestamp", time.to_string()).header("X-Mesh-Nonce", nonce)
}

/// Requests that an attacker has captured.
#[derive(Default)]
struct Captured(Vec<Request>);

impl Captured {
    /// Sends requests to a server until it has accepted one for each skew that is possible at the time.
    fn send(&mut self, server: &Server, session: &Session) {
        for skew in SKEWS {
            let request = signed(session, &format!("nonce-number-{:06}", self.0.len()), skew);
            let reply = server.send(&request);
            // Another server may have accepted signatures from before this one was started.
            assert!(reply.status == 200 || skew < 0 && why(&reply) == (401, "REPLAYED".to_owned()), "{skew}");
            self.0.push(request);
        }
        self.assert_refused(server);
    }

    fn assert_refused(&self, server: &Server) {
        for (number, request) in self.0.iter().enumerate() {
            assert_eq!(why(&server.send(request)), (401, "REPLAYED".to_owned()), "request {number}");
        }
    }
}

fn kill(mut server: Server) {
    server.signal("KILL");
    server.wait();
}

/// Tries to have requests accepted again, by servers that share their state.
pub(crate) fn assert_nothing_is_replayed(start: &dyn Fn() -> Server) {
    let mut captured = Captured::default();
    let first = start();
    let session = Session::begin(&first);
    captured.send(&first, &session);
    kill(first);
    let second = start();
    captured.assert_refused(&second);
    captured.send(&second, &session);
    // Another server joins while this one runs, and takes over when it is killed.
    let third = start();
    captured.assert_refused(&third);
    for _ in 0..2 {
        captured.send(&third, &session);
        captured.assert_refused(&second);
        captured.send(&second, &session);
        captured.assert_refused(&third);
    }
    kill(second);
    captured.assert_refused(&third);
    captured.send(&third, &session);
    let fourth = start();
    captured.assert_refused(&fourth);
    captured.send(&fourth, &session);
    captured.assert_refused(&third);
    // A suspended server is not notified of signatures that others have accepted.
    third.signal("STOP");
    captured.send(&fourth, &session);
    third.signal("CONT");
    captured.assert_refused(&third);
    captured.send(&third, &session);
}

/// Attack with captured traffic: a captured read or write sent again, to any server of a deployment.
#[test]
fn servers_that_share_a_state_file_accept_a_signature_once() {
    let deployment = Deployment::with("binding = \"require\"", "");
    assert_nothing_is_replayed(&|| deployment.start());
}

/// Servers accept a signature at the same time.
#[test]
fn one_of_two_servers_accepts_a_signature() {
    let deployment = Deployment::with("binding = \"require\"", "");
    let servers = [deployment.start(), deployment.start()];
    let session = Session::begin(&servers[0]);
    for round in 0..50 {
        let request = signed(&session, &format!("nonce-for-both-{round:04}"), 0);
        let statuses = std::thread::scope(|scope| {
            let sending = servers.each_ref().map(|server| scope.spawn(|| server.send(&request).status));
            sending.map(|it| it.join().unwrap())
        });
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    }
}

/// Without a store, a server has no record of signatures that an earlier server has accepted.
#[test]
fn a_server_without_a_store_refuses_timestamps_from_before_its_start() {
    let deployment = Deployment::with("binding = \"require\"", "[state]\nstore = \"memory\"\n");
    let server = deployment.start();
    let session = Session::begin(&server);
    let accepted = signed(&session, "nonce-of-the-first-one", 0);
    assert_eq!(server.send(&accepted).status, 200, "it has waited for the next second");
    kill(server);
    let server = deployment.start();
    for request in [accepted, signed(&session, "nonce-that-is-new", -30)] {
        let reply = server.send(&request);
        assert_eq!(why(&reply), (401, "REPLAYED".to_owned()));
    }
    wait_for("a new signature is accepted", || {
        let request =
            signed(&session, &format!("nonce-at-{:022}", UNIX_EPOCH.elapsed().unwrap().as_nanos()), 0);
        let reply = server.send(&request);
        if reply.status == 200 { Ok(()) } else { Err(reply.text()) }
    });
}
