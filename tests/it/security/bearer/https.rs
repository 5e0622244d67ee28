//! Keys that are read over HTTPS: the server accepts only trusted certificates, and follows no redirects.

use std::fs::{self, File};
use std::process::Stdio;

use mesh_tests::{Answer, Database, Issuer, Server, command, wait_until};
use serde_json::{Value, json};

use super::{Site, settings};

fn ada() -> Value {
    json!({"sub": "1"})
}

/// A server that trusts the certificates of a file, with its log.
struct Logged {
    site: Site,
    log: String,
}

impl Logged {
    fn start(issuer: &Issuer, trusted: &str) -> Self {
        let database = Database::blog();
        let config = settings(&database.dir, &format!("jwks = '{}'", issuer.url()), "");
        let log = database.dir.write("log", "");
        let mut serving = command(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            &database.url(),
            "--config",
            &config,
        ]);
        serving.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", trusted);
        let server = Server::spawn(serving.stderr(Stdio::from(File::create(&log).unwrap())));
        Self { site: Site { server, database }, log }
    }

    /// Asserts that the keys cannot be read, and that the log contains the reason.
    #[track_caller]
    fn refuses(&self, issuer: &Issuer, reason: &str) {
        self.site.refuses(&issuer.token(&ada()), 503, "Unavailable");
        // The log may follow the reply.
        let read = || fs::read_to_string(&self.log).unwrap();
        wait_until("the log has the reason", || {
            read().contains("bearers are refused until a later read succeeds")
        });
        let said = read();
        let lines: Vec<_> = said.lines().filter(|line| line.contains("the keys for bearer tokens")).collect();
        assert!(matches!(lines.as_slice(), [line] if line.contains(reason)), "{said}");
        assert!(said.contains("bearers are refused until a later read succeeds"), "{said}");
    }
}

#[test]
fn an_issuer_whose_authority_is_trusted_is_used() {
    let issuer = Issuer::with_tls();
    let folder = Database::blog();
    let server = Logged::start(&issuer, &folder.dir.write("ca.pem", issuer.authority()));
    server.site.accepts(&issuer.token(&ada()));
    let second = issuer.rotate("second");
    server.site.accepts(&second.token(&ada()));
    assert_eq!(issuer.requests(), 2);
}

/// Attack without a session: an attacker's keys in place of the issuer's keys: a certificate of another
/// authority, a redirect.
#[test]
fn an_issuer_that_is_not_trusted_gets_no_request() {
    let (issuer, other) = (Issuer::with_tls(), Issuer::with_tls());
    let folder = Database::blog();
    let server = Logged::start(&issuer, &folder.dir.write("ca.pem", other.authority()));
    server.refuses(&issuer, "invalid peer certificate");
    assert_eq!(issuer.requests(), 0);
}

#[test]
fn certificates_that_cannot_be_read_are_named() {
    let issuer = Issuer::with_tls();
    let folder = Database::blog();
    let missing = folder.dir.path().join("missing.pem").display().to_string();
    let server = Logged::start(&issuer, &missing);
    server.refuses(&issuer, "trusted certificates: ");
    server.refuses(&issuer, &missing);
    server.refuses(&issuer, "there are no trusted certificates");

    let empty = folder.dir.write("empty.pem", "");
    Logged::start(&issuer, &empty).refuses(&issuer, "there are no trusted certificates");

    // The command for settings says the same.
    let config = settings(&folder.dir, &format!("jwks = '{}'", issuer.url()), "");
    let mut check = command(&["check", "--database", &folder.url(), "--config", &config]);
    let checked = check.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", &missing).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(
        said.contains("'bearer.jwks': cannot read keys from https://") && said.contains(&missing),
        "{said}"
    );
}

/// Attack without a session: an attacker's keys in place of the issuer's keys: a certificate of another
/// authority, a redirect.
#[test]
fn redirects_to_other_schemes_and_hosts_are_not_followed() {
    let (issuer, plain, other) = (Issuer::with_tls(), Issuer::start(), Issuer::with_tls());
    let folder = Database::blog();
    let trusted = folder.dir.write("ca.pem", &format!("{}{}", issuer.authority(), other.authority()));
    for elsewhere in [&plain, &other] {
        issuer.answer(Answer::Redirect(elsewhere.url()));
        Logged::start(&issuer, &trusted)
            .refuses(&issuer, "the answer is 302 Found; redirects are not followed");
        assert_eq!(elsewhere.requests(), 0);
    }
}
