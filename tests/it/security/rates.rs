//! Rate limits by address and session, and the trust in proxies. `SPEC §12.6`

use mesh_tests::{Database, Request, Response, Server};

use crate::support::sessions::{Deployment, PASSWORD, Session, why};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;
/// A limit so low that no request is replenished during a test.
const FEW: &str = "limits.per_address = '3/h'\n";

fn limited(settings: &str) -> (Server, Database) {
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", settings);
    (Server::start(&["--config", &config, "--database", &database.url()]), database)
}

fn from(server: &Server, forwarded: &str) -> Response {
    server.send(&Request::get("/mesh/post/1", POST).header("X-Forwarded-For", forwarded))
}

/// Returns how many of six requests with these `X-Forwarded-For` headers are served by a new server.
fn passed(settings: &str, forwarded: [&str; 6]) -> usize {
    let (server, _database) = limited(settings);
    forwarded.into_iter().filter(|address| from(&server, address).status == 200).count()
}

#[test]
fn a_rate_of_zero_disables_the_limit() {
    let (server, _database) = limited("limits.per_address = '0/s'\n");
    let mut connection = server.connect();
    assert!((0..200).all(|_| connection.send(&Request::get("/mesh/post/1", POST)).status == 200));
}

#[test]
fn a_client_cannot_choose_its_address() {
    let many = ["9.0.0.1", "9.0.0.2", "9.0.0.3", "9.0.0.4", "9.0.0.5", "9.0.0.6"];
    assert_eq!(passed(FEW, many), 3, "no proxy is trusted");
    let other = format!("trusted_proxies = ['10.0.0.0/8']\n{FEW}");
    assert_eq!(passed(&other, many), 3, "another proxy is trusted");
    // Behind a trusted proxy each client has its own limit. Entries added by a client are further left.
    let trusting = format!("trusted_proxies = ['127.0.0.1/32']\n{FEW}");
    assert_eq!(passed(&trusting, many), 6);
    let spoofed = ["1.1.1.1, 9.0.0.1", "2.2.2.2, 9.0.0.1", "9.0.0.1", "x, 9.0.0.1", "9.0.0.1", "9.0.0.1"];
    assert_eq!(passed(&trusting, spoofed), 3);
    let neighbors = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4", "2001:db8:0:1::1", "::9"];
    assert_eq!(passed(&trusting, neighbors), 5, "addresses of one /64 network share a limit");
}

#[test]
fn the_limit_of_a_session_spans_addresses() {
    let deployment = Deployment::new("trusted_proxies = ['127.0.0.1']\nlimits.per_session = '3/h'\n");
    let server = deployment.start();
    let (one, other) = (Session::begin(&server), Session::begin(&server));
    for _ in 0..3 {
        assert_eq!(one.get(&server, "/post/1", POST).status, 200);
    }
    let request = one.sign(Request::get("/mesh/post/1", POST), &mesh_tests::encode(POST));
    let reply = server.send(&request.header("X-Forwarded-For", "9.9.9.9"));
    assert_eq!(why(&reply), (429, "RateLimitError".to_owned()));
    assert_eq!(other.get(&server, "/post/1", POST).status, 200, "the user's other session is not affected");
    // Unsigned requests do not count towards the limit of a session.
    for _ in 0..5 {
        let unsigned = Request::get("/mesh/post/1", POST).header("X-Mesh-Token", &other.token);
        assert_eq!(why(&server.send(&unsigned)), (401, "SIGNATURE_MISSING".to_owned()));
    }
    assert_eq!(other.get(&server, "/post/1", POST).status, 200);
    assert_eq!(one.logout(&server).status, 200, "logout is always possible");
}

#[test]
fn login_attempts_are_counted_by_the_forwarded_address() {
    let deployment = Deployment::new("trusted_proxies = ['127.0.0.1']\nlimits.login_per_minute = 2\n");
    let server = deployment.start();
    let guess = |address: &str, password: &str| {
        let body = serde_json::json!({"login": "ada@example.org", "password": password}).to_string();
        let request = Request::post(&server.path("/auth"), &body).header("X-Forwarded-For", address);
        server.send(&request).status
    };
    assert_eq!([(); 3].map(|()| guess("9.9.9.9", "guess")), [401, 401, 429]);
    assert_eq!(guess("8.8.8.8, 9.9.9.9", PASSWORD), 429);
    assert_eq!(guess("8.8.8.8", PASSWORD), 200, "other addresses are not affected");
}
