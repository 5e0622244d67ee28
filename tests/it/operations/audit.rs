//! The audit log: who did what, without secrets, without delaying requests.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::kit::encoding;
use mesh_tests::{Cluster, Database, Request, Server, command, encode, run, wait_until};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, PASSWORD, Session, login};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;
const SCHEMA: &str = r#"{"entities": {
    "post": {"fields": ["id", "title", "banner"], "writable": true, "uploads": {"banner": {}}}
}}"#;

/// Settings of everything that is logged, with the audit log in a file of a folder.
fn everything(audit: &str) -> Deployment {
    let deployment = Deployment::new(&format!(
        "[mutations]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:files\"\n[audit]\n{audit}\n"
    ));
    deployment.database.dir.write("schema.json", SCHEMA);
    deployment
}

fn start(deployment: &Deployment, more: &[&str]) -> Server {
    let schema = deployment.database.dir.path().join("schema.json").display().to_string();
    Server::start(&[&["--config", &deployment.config, "--schema", &schema], more].concat())
}

fn file(deployment: &Deployment) -> PathBuf {
    deployment.database.dir.path().join("audit.log")
}

/// Stops a server and returns the entries of its log.
fn stop_and_read(mut server: Server, path: &Path) -> Vec<Value> {
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    let text = fs::read_to_string(path).expect("the audit log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the event, the outcome and the status of entries.
fn events(entries: &[Value]) -> Vec<String> {
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let event =
        |entry: &Value| format!("{} {} {}", text(entry, "event"), text(entry, "outcome"), entry["status"]);
    entries.iter().map(event).collect()
}

/// Sends requests of all kinds. Returns the secrets that the log must not contain.
fn traffic(server: &Server) -> Vec<String> {
    assert_eq!(login(server, "ada@example.org", "a wrong password").status, 401);
    let session = Session::begin(server);
    assert_eq!(session.get(server, "/post/1", TITLE).status, 200);
    let create = session.write("POST", "/post", Some(&json!({"title": "the value of a title"})));
    assert_eq!(server.send(&create.header("X-Request-Id", "the-id-of-a-create")).status, 201);
    let update = session.write("PUT", "/post/2", Some(&json!({"title": "the value of a title"})));
    assert_eq!(server.send(&update).status, 200);
    let read = Request { method: "PUT".to_owned(), ..Request::get("/mesh/post/1", TITLE) };
    assert_eq!(server.send(&session.sign(read, &encode(TITLE))).status, 200, "a read");
    for (query, status) in [(TITLE, 200), (r#"{"post": {"$select": {"nosuch": true}}}"#, 400)] {
        let reads = json!({"steps": [{"method": "GET", "path": "/post/1", "query": query}]});
        assert_eq!(session.post(server, "/batch", &reads).status, status, "a batch of reads");
    }
    let unwritable = session.write("PUT", "/post/2", Some(&json!({"nosuch": "x"})));
    assert_eq!(server.send(&unwritable).status, 400);
    assert_eq!(server.send(&session.write("DELETE", "/post/99", None)).status, 404);
    assert_eq!(server.send(&session.write("DELETE", "/post/3", None)).status, 204);
    assert_eq!(server.send(&Request::new("DELETE", "/mesh/post/1")).status, 401);
    let hash = format!("sha256:{}", encoding::sha256("hello"));
    let statement = json!({"post": {"banner": {"upload": true}}, "contentHash": hash}).to_string();
    let body =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nhello\r\n--b--\r\n";
    let upload = Request::new("POST", "/mesh/post/1/banner").query(&statement).body(body);
    let upload = upload.header("Content-Type", "multipart/form-data; boundary=b");
    let uploaded = server.send(&session.sign(upload, &encode(&statement)));
    assert_eq!(uploaded.status, 200, "{}", uploaded.text());
    assert_eq!(session.post(server, "/queries", &json!({"query": TITLE})).status, 200);
    let forged = session.sign(Request::get("/mesh/post/1?password=in-the-url", TITLE), "something else");
    assert_eq!(server.send(&forged).status, 403);
    assert_eq!(session.logout(server).status, 200);
    vec![
        PASSWORD.to_owned(),
        "a wrong password".to_owned(),
        "the secret of these tests".to_owned(),
        session.token[..60].to_owned(),
        session.signing_token.clone(),
        session.signature(&encode(TITLE)),
        "$argon2id$".to_owned(),
        "in-the-url".to_owned(),
    ]
}

const EVENTS: [&str; 11] = [
    "login refused 401",
    "login ok 200",
    "write ok 201",
    "write ok 200",
    "write failed 400",
    "write failed 404",
    "write ok 204",
    "write refused 401",
    "upload ok 200",
    "register ok 200",
    "request refused 403",
];

#[test]
fn events_are_logged_with_their_caller_and_without_secrets() {
    let deployment = everything("store = \"file:audit.log\"");
    let server = start(&deployment, &[]);
    let mut secrets = traffic(&server);
    let path = file(&deployment);
    let entries = stop_and_read(server, &path);
    assert_eq!(events(&entries), [&EVENTS[..], &["logout ok 200"]].concat(), "{entries:#?}");
    secrets.push("the value of a title".to_owned());
    let text = fs::read_to_string(&path).unwrap();
    for secret in secrets {
        assert!(!text.contains(&secret), "{secret} is in the log");
    }
    assert_eq!(entries[0]["account"], "ada@example.org");
    assert_eq!((&entries[0]["code"], &entries[0]["user"]), (&json!("BAD_CREDENTIALS"), &Value::Null));
    let create = &entries[2];
    for (name, value) in [
        ("method", json!("POST")),
        ("path", json!("/mesh/post")),
        ("entity", json!("post")),
        ("id", json!("4")),
        ("fields", json!(["title"])),
        ("values", Value::Null),
        ("caller", json!("session")),
        ("user", json!("1")),
        ("role", json!("admin")),
        ("tenant", json!("acme")),
        ("client", json!("127.0.0.1")),
        ("requestId", json!("the-id-of-a-create")),
    ] {
        assert_eq!(create[name], value, "{name}: {create}");
    }
    let time = create["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    assert!(create["ms"].as_f64().is_some_and(|ms| ms >= 0.0));
    assert!(create["session"].as_str().is_some_and(|id| id.len() == 32));
    assert_eq!(
        (&entries[3]["id"], &entries[6]["id"], &entries[8]["id"]),
        (&json!("2"), &json!("3"), &json!("1"))
    );
    assert_eq!((&entries[7]["code"], &entries[7]["caller"]), (&json!("TOKEN_MISSING"), &Value::Null));
    assert!(entries[9]["query"].as_str().is_some_and(|id| id.starts_with("q_")));
    assert_eq!(entries[11]["user"], "1");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn values_are_logged_on_demand_and_traces_by_their_id() {
    let deployment = everything("store = \"file:audit.log\"\nvalues = true");
    let server = start(&deployment, &[]);
    let session = Session::begin(&server);
    let create = session.write("POST", "/post", Some(&json!({"title": "the value of a title"})));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let create = create.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    assert_eq!(server.send(&create).status, 201);
    let entries = stop_and_read(server, &file(&deployment));
    assert_eq!(entries[1]["values"], json!({"title": "the value of a title"}));
    assert_eq!(entries[1]["traceId"], trace);
}

#[test]
fn a_restart_appends_and_a_renamed_file_is_replaced() {
    let deployment = everything("store = \"file:audit.log\"");
    let path = file(&deployment);
    for count in 1..=2 {
        let server = start(&deployment, &[]);
        assert_eq!(login(&server, "ada@example.org", "wrong").status, 401);
        assert_eq!(stop_and_read(server, &path).len(), count);
    }
    let server = start(&deployment, &[]);
    assert_eq!(login(&server, "ada@example.org", "wrong").status, 401);
    let rotated = path.with_extension("1");
    let lines = |path: &Path| fs::read_to_string(path).unwrap_or_default().lines().count();
    wait_until("the entry is written", || lines(&path) == 3);
    fs::rename(&path, &rotated).unwrap();
    assert_eq!(login(&server, "ada@example.org", "wrong").status, 401);
    assert_eq!(stop_and_read(server, &path).len(), 1);
    assert_eq!(lines(&rotated), 3);
}

#[test]
fn reads_and_requests_without_sessions_are_not_logged_unless_refused() {
    let blog = Database::blog();
    let path = blog.dir.path().join("audit.log");
    let config = blog.dir.write(
        "mesh.toml",
        &format!(
            "database = \"{}\"\n[audit]\nstore = \"file:audit.log\"\n[limits]\nper_address = \"4/h\"\n",
            blog.url()
        ),
    );
    let server = Server::start(&["--config", &config]);
    let statuses: Vec<u16> = (0..200).map(|_| server.get("/post/1", TITLE).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 196);
    let entries = stop_and_read(server, &path);
    // A flood of refusals is counted.
    let suppressed: u64 = entries.iter().filter_map(|entry| entry["count"].as_u64()).sum();
    let refused: Vec<&Value> = entries.iter().filter(|entry| entry["event"] == "request").collect();
    assert!(refused.len() >= 120 && refused.iter().all(|entry| entry["status"] == 429));
    assert!(refused.len() as u64 + suppressed <= 196 && suppressed > 0, "{} and {suppressed}", refused.len());
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_reads_delays_nothing_and_drops_are_reported() {
    let blog = Database::blog();
    let pipe = blog.dir.path().join("audit.log");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let config = blog.dir.write(
        "mesh.toml",
        &format!(
            "database = \"{}\"\nschema = \"schema.json\"\n[audit]\nstore = \"file:audit.log\"\nvalues = true\n[mutations]\nenabled = true\n",
            blog.url()
        ),
    );
    blog.dir.write(
        "schema.json",
        r#"{"entities": {"tag": {"fields": ["id", "label"], "table": "tags", "writable": true}}}"#,
    );
    let log = blog.dir.path().join("log");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--config", &config]);
    let server = Server::spawn(serve.stderr(File::create(&log).unwrap()));
    let mut connection = server.connect();
    let label = "x".repeat(15 << 10);
    for _ in 0..400 {
        let body = json!({ "label": label }).to_string();
        let update = Request { method: "PUT".to_owned(), ..Request::post("/mesh/tag/1", &body) };
        assert_eq!(connection.send(&update).status, 200);
    }
    let metric = |name: &str| -> u64 {
        let text = server.send(&Request::new("GET", "/metrics")).text();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
        line.expect("the metric").parse().expect("a number")
    };
    let dropped = metric("mesh_audit_dropped_total");
    assert!(dropped > 100, "{dropped}");
    assert_eq!(metric("mesh_audit_entries_total"), 0);
    assert!(fs::read_to_string(&log).unwrap().contains("entries are dropped"));

    // A reader gets the entries that were kept, and the number of those that were dropped.
    let mut reader = BufReader::new(File::open(&pipe).unwrap());
    let (mut kept, mut reported) = (0, 0);
    let mut line = String::new();
    while kept + reported < 400 {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0);
        let entry: Value = serde_json::from_str(&line).unwrap();
        match entry["event"].as_str() {
            Some("dropped") => reported += entry["count"].as_u64().unwrap(),
            _ => kept += 1,
        }
    }
    assert_eq!((reported, kept), (dropped, 400 - dropped));
}

#[cfg(unix)]
#[test]
fn a_server_stops_in_time_although_nobody_reads_the_log() {
    let blog = Database::blog();
    let pipe = blog.dir.path().join("audit.log");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let config = blog.dir.write(
        "mesh.toml",
        &format!(
            "database = \"{}\"\nshutdown_timeout = \"1s\"\n[audit]\nstore = \"file:audit.log\"\n[limits]\nper_address = \"1/h\"\n",
            blog.url()
        ),
    );
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--config", &config]);
    let mut server = Server::spawn(serve.stderr(std::process::Stdio::piped()));
    let mut log = server.log().unwrap();
    (0..3).for_each(|_| drop(server.get("/post/1", TITLE)));
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(text.contains("2 entries of the audit log could not be written"), "{text}");
}

#[test]
fn a_disk_that_is_full_stops_nothing() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let blog = Database::blog();
    let config = blog.dir.write(
        "mesh.toml",
        &format!(
            "database = \"{}\"\nshutdown_timeout = \"1s\"\n[audit]\nstore = \"file:/dev/full\"\n[limits]\nper_address = \"2/h\"\n",
            blog.url()
        ),
    );
    let server = Server::start(&["--config", &config]);
    let statuses: Vec<u16> = (0..3).map(|_| server.get("/post/1", TITLE).status).collect();
    assert_eq!(statuses, [200, 200, 429]);
    wait_until("the failure is counted", || {
        let text = server.send(&Request::new("GET", "/metrics")).text();
        text.lines().any(|line| line.starts_with("mesh_audit_failures_total ") && !line.ends_with(" 0"))
    });
}

/// Sends refused logins to a server with an audit log in a table, while the table is there and while it is not.
fn check_table(mut server: Server, execute: impl Fn(&str), count: impl Fn() -> u64) {
    let refused = |server: &Server| assert_eq!(login(server, "ada@example.org", "wrong").status, 401);
    refused(&server);
    wait_until("the entry is in the table", || count() == 1);
    let reply = server.get("/audit", r#"{"audit":{"$select":{"event":true}}}"#);
    assert_ne!(reply.status, 200, "the table is not served");
    execute("ALTER TABLE audit RENAME TO other");
    refused(&server);
    wait_until("the failure is counted", || {
        let text = server.send(&Request::new("GET", "/metrics")).text();
        text.lines().any(|line| line.starts_with("mesh_audit_failures_total ") && !line.ends_with(" 0"))
    });
    execute("ALTER TABLE other RENAME TO audit");
    wait_until("the entry was kept", || count() == 2);
    refused(&server);
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(count(), 3, "the log is written before the end");
}

#[test]
fn a_table_of_sqlite_is_written_and_not_served() {
    let deployment = Deployment::new("[audit]\nstore = \"table:audit\"\n");
    let config = &deployment.config;
    let missing = run(&["serve", "--listen", "127.0.0.1:0", "--config", config]);
    let text = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(2), "{text}");
    let (_, create) = text.split_once("create it with").expect("the statement");
    assert_eq!(run(&["check", "--config", config]).status.code(), Some(1));
    deployment.database.connect().execute_batch(create).unwrap();
    assert_eq!(run(&["check", "--config", config]).status.code(), Some(0));
    let database = deployment.database.connect();
    let execute = |sql: &str| database.execute_batch(sql).unwrap();
    let count = || {
        let sql = "SELECT count(*) FROM audit WHERE event = 'login' AND json_extract(entry, '$.account') IS NOT NULL";
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0).cast_unsigned()
    };
    check_table(deployment.start(), execute, count);
}

#[test]
fn a_table_of_postgres_is_written_and_not_served() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE accounts (id integer PRIMARY KEY, email text, password_hash text, role text, tenant text);
         CREATE TABLE posts (id integer PRIMARY KEY, title text);",
    );
    let deployment = Deployment::new("[audit]\nstore = \"table:audit\"\n");
    let text = fs::read_to_string(&deployment.config).unwrap();
    fs::write(&deployment.config, text.replace(&deployment.database.url(), &cluster.url())).unwrap();
    let missing = run(&["serve", "--listen", "127.0.0.1:0", "--config", &deployment.config]);
    let text = String::from_utf8_lossy(&missing.stderr).into_owned();
    let (_, create) = text.split_once("create it with").unwrap_or_else(|| panic!("{text}"));
    cluster.execute(create);
    let count = || {
        let sql = "SELECT count(*) FROM audit WHERE event = 'login' AND entry->>'account' IS NOT NULL";
        cluster.query(sql).and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    check_table(deployment.start(), |sql| cluster.execute(sql), count);
}
