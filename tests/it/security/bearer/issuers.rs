//! Issuers that rotate their keys, are slow or unavailable, or send invalid responses.

use std::net::TcpListener;
use std::process::Stdio;

use mesh_tests::{Answer, Database, Issuer, Server, SigningKey, command, run, wait_until};
use serde_json::{Value, json};

use super::{Site, settings};

fn ada() -> Value {
    json!({"sub": "1"})
}

#[test]
fn a_new_key_is_found_although_others_are_unknown() {
    let issuer = Issuer::start();
    let site = Site::of(&issuer);
    let (before, first) = (issuer.requests(), issuer.token(&ada()));
    assert_eq!(before, 1, "read at the start");
    site.accepts(&first);
    site.accepts(&first);
    site.refuses(&SigningKey::generate("../../etc/passwd").token(&ada()), 401, "TOKEN_INVALID");
    assert_eq!(issuer.requests(), 2);
    let second = issuer.rotate("second");
    site.accepts(&second.token(&ada()));
    assert_eq!(issuer.requests(), 3);
    site.refuses(&first, 401, "TOKEN_INVALID");
    // Further reads are spaced out, and all requests wait for the same one.
    let third = issuer.rotate("third");
    let unknown = SigningKey::generate("unknown").token(&ada());
    std::thread::scope(|threads| {
        let others: Vec<_> = (0..10).map(|_| threads.spawn(|| site.read(&unknown).status)).collect();
        wait_until("the new key is used", || site.read(&third.token(&ada())).status == 200);
        assert!(others.into_iter().all(|other| [401, 503].contains(&other.join().unwrap())));
    });
    assert!(issuer.requests() <= 5, "{}", issuer.requests());
}

#[test]
fn keys_are_read_again_after_the_interval() {
    let issuer = Issuer::start();
    let site = Site::start(&format!("jwks = '{}'\nrefresh = '1s'", issuer.url()));
    let first = issuer.token(&ada());
    site.accepts(&first);
    // The new key has the same id, so the server finds it only after the interval.
    let second = issuer.rotate("first").token(&ada());
    wait_until("the new key is used", || site.read(&second).status == 200);
    site.refuses(&first, 401, "TOKEN_INVALID");
}

#[test]
fn known_keys_stay_in_use_while_the_issuer_is_away_or_wrong() {
    let issuer = Issuer::start();
    let site = Site::start(&format!("jwks = '{}'\nrefresh = '1s'", issuer.url()));
    let elsewhere = Issuer::start();
    let wrong: [Answer; 9] = [
        Answer::Cut,
        Answer::Reply(500, b"{}".to_vec()),
        Answer::Reply(404, Vec::new()),
        Answer::Reply(200, b"<html>maintenance</html>".to_vec()),
        Answer::Reply(200, br#"{"keys": []}"#.to_vec()),
        Answer::Reply(200, br#"{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]}"#.to_vec()),
        Answer::Redirect(elsewhere.url()),
        Answer::Reply(200, vec![b' '; 300 * 1024]),
        Answer::Hold,
    ];
    for answer in wrong {
        let before = issuer.requests();
        issuer.answer(answer.clone());
        // A token with an unknown key makes the server request the keys at once; later it does so at intervals.
        let _ = site.read(&SigningKey::generate("unknown").token(&ada()));
        wait_until("the server has asked", || issuer.requests() > before);
        site.accepts(&issuer.token(&ada()));
    }
    assert_eq!(elsewhere.requests(), 0, "redirects are not followed");
    let second = issuer.rotate("second");
    issuer.answer(Answer::Keys);
    wait_until("the server has recovered", || site.read(&second.token(&ada())).status == 200);
}

#[test]
fn a_server_starts_without_its_issuer_and_recovers() {
    for answer in
        [Answer::Cut, Answer::Reply(500, Vec::new()), Answer::Reply(200, b"[]".to_vec()), Answer::Hold]
    {
        let issuer = Issuer::start();
        issuer.answer(answer);
        let site = Site::of(&issuer);
        let token = issuer.token(&ada());
        site.refuses(&token, 503, "Unavailable");
        assert!(site.read(&token).header("retry-after").is_some());
        site.refuses("x.y.z", 503, "Unavailable");
        issuer.answer(Answer::Keys);
        wait_until("the keys are read", || site.read(&token).status == 200);
    }
}

#[test]
fn a_port_without_an_issuer_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let site = Site::start(&format!("jwks = 'http://{address}/jwks'"));
    site.refuses("x.y.z", 503, "Unavailable");
}

#[test]
fn a_slow_issuer_delays_those_only_whose_key_is_unknown() {
    let issuer = Issuer::start();
    let site = Site::of(&issuer);
    let known = issuer.token(&ada());
    issuer.answer(Answer::Hold);
    let unknown = SigningKey::generate("unknown").token(&ada());
    std::thread::scope(|threads| {
        let waiting: Vec<_> = (0..8).map(|_| threads.spawn(|| site.read(&unknown).status)).collect();
        wait_until("the server has asked", || issuer.requests() == 2);
        for _ in 0..50 {
            site.accepts(&known);
        }
        assert_eq!(issuer.requests(), 2, "one request for all of them");
        issuer.answer(Answer::Keys);
        let statuses: Vec<u16> = waiting.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(statuses, [401; 8]);
    });
}

#[test]
fn a_file_of_keys_is_read_again_when_it_changes() {
    let (first, second) = (SigningKey::generate("a"), SigningKey::generate("a"));
    let document = |key: &SigningKey| json!({"keys": [key.jwk()]}).to_string();
    let database = Database::blog();
    database.dir.write("keys.json", &document(&first));
    // The path is relative to the settings file.
    let config = settings(&database.dir, "jwks = 'file:keys.json'", "");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    let site = Site { server, database };
    site.accepts(&first.token(&ada()));
    site.database.dir.write("keys.json", "{\"keys\": [");
    site.accepts(&first.token(&ada()));
    site.database.dir.write("keys.json", &document(&second));
    wait_until("the new key is used", || site.read(&second.token(&ada())).status == 200);
    site.refuses(&first.token(&ada()), 401, "TOKEN_INVALID");
}

#[test]
fn an_unreachable_issuer_is_reported() {
    let issuer = Issuer::start();
    issuer.answer(Answer::Reply(500, Vec::new()));
    let database = Database::blog();
    let config = settings(&database.dir, &format!("jwks = '{}'", issuer.url()), "");
    let arguments = ["--database", &database.url(), "--config", &config];
    let mut serving = command(&[&["serve", "--listen", "127.0.0.1:0"][..], &arguments].concat());
    let log = database.dir.path().join("log");
    let server = Server::spawn(serving.stderr(Stdio::from(std::fs::File::create(&log).unwrap())));
    let mut said = String::new();
    wait_until("the failure is logged", || {
        said = std::fs::read_to_string(&log).unwrap();
        said.contains("the answer is 500")
    });
    assert!(said.contains("are refused until a later read succeeds"), "{said}");
    let ready = server.send(&mesh_tests::Request::new("GET", "/readyz"));
    assert_eq!(ready.json()["checks"]["bearer"]["status"], "warned", "{}", ready.text());
    let checked = run(&[&["check"][..], &arguments].concat());
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(said.contains("'bearer.jwks': cannot read keys from http://127.0.0.1"), "{said}");
    issuer.answer(Answer::Keys);
    let checked = run(&[&["check"][..], &arguments].concat());
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));
    wait_until("the check passes", || {
        let ready = server.send(&mesh_tests::Request::new("GET", "/readyz"));
        ready.json()["checks"]["bearer"]["status"] == "passed"
    });
}

#[test]
fn all_faults_of_the_settings_are_reported() {
    let database = Database::blog();
    let check = |bearer: &str| {
        let config = settings(&database.dir, bearer, "");
        let checked = run(&["check", "--database", &database.url(), "--config", &config]);
        assert_eq!(checked.status.code(), Some(1));
        String::from_utf8_lossy(&checked.stderr).into_owned()
    };
    let said = check("secret = 'too short'\n[uploads]\nenabled = true\nstore = 'nowhere:x'");
    assert!(said.contains("'bearer.secret': the secret has 9 bytes and needs at least 32"), "{said}");
    assert!(said.contains("'uploads.store'") && !said.contains("too short"), "{said}");
    assert!(check("secret_file = 'missing'").contains("cannot read the secret in"));
    assert!(check("jwks = 'file:missing.json'").contains("'bearer.jwks': cannot read keys from"));
    let said = check("jwks = 'ftp://x/y'\nleeway = 'long'\nidd = 'sub'");
    for fault in ["'bearer.jwks' must be", "'bearer.leeway' must be", "did you mean 'bearer.id'?"] {
        assert!(said.contains(fault), "{said}");
    }
}

/// Attack without a session: a flood of invalid bearer tokens; an issuer that is slow, unreachable or wrong.
#[test]
fn a_flood_of_invalid_tokens_is_limited_and_does_not_affect_verified_callers() {
    let issuer = Issuer::start();
    let site = Site::of(&issuer);
    let known = issuer.token(&ada());
    site.accepts(&known);
    let forged = SigningKey::generate("first");
    let mut connection = site.server.connect();
    let mut refused = None;
    for number in 0..2_000 {
        let token = forged.token(&json!({"sub": number.to_string()}));
        let request = super::bearer(mesh_tests::Request::get("/mesh/post/1", super::TITLE), &token);
        let reply = connection.send(&request);
        if reply.status != 401 {
            refused = Some((number, reply));
            break;
        }
    }
    let (number, reply) = refused.expect("a refusal");
    assert_eq!((number >= 600, super::why(&reply)), (true, (429, "RateLimitError".to_owned())), "{number}");
    assert!(reply.header("retry-after").is_some());
    site.accepts(&known);
}

#[test]
fn a_token_is_accepted_by_every_server_and_after_a_restart() {
    let issuer = Issuer::start();
    let token = issuer.token(&ada());
    let sites = [Site::of(&issuer), Site::of(&issuer)];
    for _ in 0..2 {
        sites.iter().for_each(|site| site.accepts(&token));
    }
    drop(sites);
    Site::of(&issuer).accepts(&token);
}

/// Attack with access to the page or the log: secrets in log lines and errors.
#[test]
fn the_log_contains_no_token() {
    let issuer = Issuer::start();
    let database = Database::blog();
    let config = settings(&database.dir, &format!("jwks = '{}'\nclaims = ['plan']", issuer.url()), "");
    let log = database.dir.path().join("log");
    let mut serving = command(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log",
        "trace",
        "--database",
        &database.url(),
        "--config",
        &config,
    ]);
    let server = Server::spawn(serving.stderr(Stdio::from(std::fs::File::create(&log).unwrap())));
    let token = issuer.token(&json!({"sub": "1", "plan": "a-secret-claim"}));
    let expired = issuer.token(&json!({"sub": "1", "exp": Issuer::now() - 100}));
    let site = Site { server, database };
    site.accepts(&token);
    site.refuses(&expired, 401, "TOKEN_EXPIRED");
    drop(site.server);
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("serving at"), "{said}");
    for secret in
        [&token, &expired].iter().flat_map(|token| token.split('.').skip(1)).chain(["a-secret-claim"])
    {
        assert!(!said.contains(secret), "{secret}");
    }
}
