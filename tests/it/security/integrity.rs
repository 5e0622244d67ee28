//! A server with accounts refuses every request that is not signed as required. `SPEC §7`

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Server, command, encode};
use serde_json::json;

use crate::support::sessions::{Deployment, PASSWORD, Session, login, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Two servers of one deployment, which share only the file of their state.
#[test]
fn a_logout_applies_to_all_servers_and_after_restarts() {
    let deployment = Deployment::new("");
    let (mut a, mut b) = (deployment.start(), deployment.start());
    let session = Session::begin(&a);
    let other = Session::begin(&b);
    assert_eq!(session.get(&b, "/post/1", TITLE).status, 200);
    assert_eq!(session.logout(&b).status, 200);
    assert_eq!(why(&session.get(&a, "/post/1", TITLE)), refused(401, "TOKEN_REVOKED"), "at once");
    for server in [&mut a, &mut b] {
        server.signal("KILL");
        server.wait();
    }
    let again = deployment.start();
    assert_eq!(why(&session.get(&again, "/post/1", TITLE)), refused(401, "TOKEN_REVOKED"));
    assert_eq!(other.get(&again, "/post/1", TITLE).status, 200, "a session that was not ended lives on");
    assert!(deployment.database.dir.path().join("data.db.mesh-state").exists());
}

#[test]
fn a_logout_in_memory_applies_to_one_server_only() {
    let deployment = Deployment::new("[state]\nstore = \"memory\"\n");
    let (a, b) = (deployment.start(), deployment.start());
    let session = Session::begin(&a);
    assert_eq!(session.logout(&a).status, 200);
    assert_eq!(session.get(&a, "/post/1", TITLE).status, 401);
    assert_eq!(session.get(&b, "/post/1", TITLE).status, 200);
    assert!(!deployment.database.dir.path().join("data.db.mesh-state").exists());
}

/// Attack without a session: guesses of passwords.
#[test]
fn wrong_passwords_are_rate_limited() {
    let deployment = Deployment::new("[limits]\nlogin_per_minute = 3\n");
    let server = deployment.start();
    for _ in 0..3 {
        assert_eq!(login(&server, "ada@example.org", "guess").status, 401);
    }
    let reply = login(&server, "ada@example.org", PASSWORD);
    assert_eq!(why(&reply), refused(429, "RateLimitError"));
    let wait: u32 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(why(&login(&server, "nobody@example.org", "guess")), refused(401, "BAD_CREDENTIALS"));
}

/// Unknown accounts take as long as known ones.
///
/// Attack without a session: finding accounts by the time of a login.
#[test]
fn the_time_of_a_login_does_not_reveal_accounts() {
    let deployment = Deployment::new("[limits]\nlogin_per_minute = 1000\n");
    // `hash-password` makes hashes that take long enough to be measured.
    let hash = hash_password("slow");
    let connection = deployment.database.connect();
    connection.execute("UPDATE accounts SET password_hash = ?1 WHERE id = 1", [hash]).unwrap();
    let server = deployment.start();
    // CPU time, because the load of the machine does not change it much.
    let time = |name: &str| {
        let start = server.cpu_time();
        for _ in 0..10 {
            assert_eq!(login(&server, name, "wrong").status, 401);
        }
        server.cpu_time() - start
    };
    let (known, unknown) = (time("ada@example.org"), time("missing@example.org"));
    assert!(
        known.min(unknown) > Duration::from_millis(100),
        "too short to be compared: {known:?}, {unknown:?}"
    );
    let ratio = known.as_secs_f64() / unknown.as_secs_f64();
    assert!((0.4..2.5).contains(&ratio), "known {known:?}, unknown {unknown:?}");
}

/// Attack with access to the page or the log: secrets in log lines and errors.
#[test]
fn secrets_stay_secret_and_short_ones_are_refused() {
    let deployment = Deployment::new("");
    let short = std::fs::read_to_string(&deployment.config).unwrap();
    let short = short.replace("the secret of these tests, 32 bytes or more", "hunter2 hunter2");
    let file = deployment.database.dir.write("short.toml", &short);
    let output = command(&["serve", "--listen", "127.0.0.1:0", "--config", &file]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("32") && !said.contains("hunter2"), "{said}");

    let log = deployment.database.dir.path().join("log");
    let file = std::fs::File::create(&log).unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--config", &deployment.config];
    let server = Server::spawn(command(&arguments).stderr(file));
    let session = Session::begin(&server);
    session.get(&server, "/post/1", TITLE);
    let _ = login(&server, "ada@example.org", "my wrong password");
    session.get(&server, "/post/1", "{");
    session.logout(&server);
    drop(server);
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("serving at"), "{said}");
    for secret in
        ["the secret of these tests", &session.token, &session.signing_token, PASSWORD, "my wrong password"]
    {
        assert!(!said.contains(secret), "{secret} in the log");
    }
}

#[test]
fn servers_without_the_secret_of_another_refuse_its_tokens() {
    let (one, other) = (Deployment::new(""), Deployment::new(""));
    let text = std::fs::read_to_string(&other.config).unwrap();
    let text = text.replace("the secret of these tests", "another secret of these tests");
    let text = text.replace("[integrity.users]", "previous_secrets = []\n[integrity.users]");
    let config = other.database.dir.write("other.toml", &text);
    let rotated = text.replace(
        "previous_secrets = []",
        "previous_secrets = [\"the secret of these tests, 32 bytes or more\"]",
    );
    let rotated = other.database.dir.write("rotated.toml", &rotated);
    let session = Session::begin(&one.start());
    let server = Server::start(&["--config", &config]);
    assert_eq!(why(&session.get(&server, "/post/1", TITLE)), refused(401, "TOKEN_INVALID"));
    let server = Server::start(&["--config", &rotated]);
    assert_eq!(session.get(&server, "/post/1", TITLE).status, 200);
}

#[test]
fn a_missing_table_of_accounts_is_reported_at_start() {
    let database = Database::blog();
    let config = |users: &str| {
        let text = format!(
            "database = \"{}\"\n[integrity]\nenabled = true\nsecret = \"{}\"\n[integrity.users]\n{users}\n",
            database.url(),
            "x".repeat(32)
        );
        database.dir.write("mesh.toml", &text)
    };
    for (users, words) in [
        ("table = \"people\"", ["people", "'integrity.users'"]),
        ("login = \"mail\"", ["mail", "for the login"]),
        ("login = \"name\"\npassword = \"secret\"", ["secret", "for the password"]),
    ] {
        let output =
            command(&["serve", "--listen", "127.0.0.1:0", "--config", &config(users)]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn hashes_of_hash_password_are_accepted_at_login() {
    let deployment = Deployment::new("");
    let hash = hash_password("a new password, with ümlauts");
    assert!(hash.starts_with("$argon2id$v=19$m="), "{hash}");
    let connection = deployment.database.connect();
    connection.execute("UPDATE accounts SET password_hash = ?1 WHERE id = 1", [hash]).unwrap();
    let server = deployment.start();
    assert_eq!(login(&server, "ada@example.org", "a new password, with ümlauts").status, 200);
    assert_eq!(login(&server, "ada@example.org", PASSWORD).status, 401);
    let empty = with_input(&["hash-password"], "\n", &[]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(empty.stdout.is_empty());
}

#[test]
fn query_logs_in_signs_pages_and_logs_out() {
    let deployment = Deployment::with("binding = \"require\"", "");
    let server = deployment.start();
    let url = format!("http://{}{}", server.address, server.base);
    let as_ada = ["query", "--url", &url, "--login", "ada@example.org"];
    let ask = |more: &[&str], input: &str, env: &[(&str, &str)]| {
        with_input(&[&as_ada[..], more].concat(), input, env)
    };
    let output = ask(&["--id", "1", "{ post title }"], &format!("{PASSWORD}\n"), &[]);
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text(&output), "{\"title\":\"Rust at dawn\"}\n", "{output:?}");
    let paged = r#"{"post":{"$select":{"id":true},"$page":{"first":1}}}"#;
    let output = ask(&["--all", paged], "", &[("MESH_PASSWORD", PASSWORD)]);
    assert_eq!(text(&output), "[{\"id\":1},{\"id\":2},{\"id\":3}]\n", "{output:?}");
    // A query that is too long for a header is posted, and signed as such.
    let long = format!("{{ post {} }}", "title ".repeat(3_000));
    let output = ask(&["--id", "2", &long], "", &[("MESH_PASSWORD", PASSWORD)]);
    assert_eq!(text(&output), "{\"title\":\"Slow bread\"}\n", "{output:?}");

    let wrong = ask(&["{ post title }"], "", &[("MESH_PASSWORD", "wrong")]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("BAD_CREDENTIALS"), "{wrong:?}");
    let unsigned = command(&["query", "--url", &url, "{ post title }"]).output().unwrap();
    assert!(String::from_utf8_lossy(&unsigned.stderr).contains("TOKEN_MISSING"), "{unsigned:?}");
    let state = deployment.database.dir.path().join("data.db.mesh-state");
    let state = rusqlite::Connection::open(state).unwrap();
    let ended: i64 = state.query_row("SELECT count(*) FROM revocation", [], |row| row.get(0)).unwrap();
    assert_eq!(ended, 3, "each session was ended");
}

/// Headers of proxies and pages do not change the role, which comes from the token.
///
/// Attack without a session: a session token with other claims, a role or an expiry of the client's choice.
#[test]
fn claims_outside_the_token_are_ignored() {
    let deployment = Deployment::new("");
    let server = deployment.start();
    for name in ["X-Mesh-Role", "X-Mesh-User", "Authorization", "X-Forwarded-User", "Cookie"] {
        let request = Request::get("/mesh/post/1", TITLE).header(name, "admin");
        assert_eq!(why(&server.send(&request)), refused(401, "TOKEN_MISSING"), "{name}");
    }
    let body = json!({"query": TITLE, "context": {"role": "admin"}, "integrity": false}).to_string();
    assert_eq!(why(&server.send(&Request::post("/mesh", &body))), refused(401, "TOKEN_MISSING"));
}

fn hash_password(password: &str) -> String {
    let output = with_input(&["hash-password"], &format!("{password}\n"), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Runs a command of the program with the given standard input.
fn with_input(arguments: &[&str], input: &str, env: &[(&str, &str)]) -> Output {
    let mut command: Command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).envs(env.iter().copied());
    let mut child = command.spawn().unwrap();
    // A command that needs no input may exit before it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Starts a server with uploads, for the avatar of an account and the banner of a post.
fn with_files(deployment: &Deployment) -> Server {
    let dir = &deployment.database.dir;
    let schema = json!({"entities": {
        "account": {"fields": ["id", "email", "avatar"], "uploads": {"avatar": {}}},
        "post": {"fields": ["id", "title", "banner"], "writable": ["title"], "uploads": {"banner": {}}}
    }});
    let schema = dir.write("schema.json", &schema.to_string());
    let config = std::fs::read_to_string(&deployment.config).unwrap();
    let store = dir.path().join("files").display().to_string();
    let config =
        dir.write("files.toml", &format!("{config}\n[uploads]\nenabled = true\nstore = \"file:{store}\"\n"));
    Server::start(&["--config", &config, "--schema", &schema])
}

/// Builds an upload to a path, signed with the statement for a field.
fn upload(session: &Session, path: &str, of: (&str, &str), meta: Option<&str>) -> Request {
    let (entity, field) = of;
    let hash = format!("sha256:{}", encoding::sha256(b"bytes"));
    let statement = encode(&json!({entity: {field: {"upload": true}}, "contentHash": hash}).to_string());
    let meta =
        meta.map(|meta| format!("--x\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n{meta}\r\n"));
    let file =
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nbytes\r\n--x--\r\n";
    let request = Request::new("POST", path).header("X-Mesh-Query", &statement);
    let request = request.header("Content-Type", "multipart/form-data; boundary=x");
    session.sign(request.body(format!("{}{file}", meta.unwrap_or_default())), &statement)
}

/// A signed statement must match the field of the path.
///
/// Attack with captured traffic: a signed upload sent to another field.
#[test]
fn a_signed_upload_is_valid_for_its_field_only() {
    let deployment = Deployment::new("");
    let server = with_files(&deployment);
    let session = Session::begin(&server);
    let avatar = ("account", "avatar");
    for path in ["/mesh/post/2/banner", "/mesh/post/2/title", "/mesh/account/1/email", "/mesh/post"] {
        let reply = server.send(&upload(&session, path, avatar, None));
        assert_eq!(why(&reply), refused(400, "ValidationError"), "{path}");
    }
    let reply = server.send(&upload(&session, "/mesh/account/1/avatar", avatar, None));
    assert_eq!(reply.status, 200, "{}", reply.text());
}
