//! Persisted queries: registration, storage, and reads by id (SPEC §8).

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server, wait_for};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, Session, why};

const TITLE: &str = "{ post title }";

/// Computes the id of a query (SPEC §8.2).
fn id(format: &str, query: &str) -> String {
    format!("q_{}", &encoding::sha256(format!("{format}\0{query}").as_bytes())[..32])
}

fn register(server: &Server, query: &str) -> Response {
    let body = json!({"query": query, "format": "ql"}).to_string();
    server.send(&Request::post(&server.path("/queries"), &body))
}

fn read(server: &Server, path: &str, id: &str) -> Response {
    server.send(&Request::new("GET", &server.path(path)).header("X-Mesh-Query-Id", id))
}

fn configured(database: &Database, more: &str) -> String {
    database.dir.write("mesh.toml", &format!("database = \"{}\"\n{more}\n", database.url()))
}

#[test]
fn a_registered_query_survives_a_restart_and_is_shared() {
    let blog = Database::blog();
    let (mut a, b) = (Server::with_database(&blog), Server::with_database(&blog));
    let wanted = id("ql", TITLE);
    assert_eq!(why(&read(&a, "/post/1", &wanted)), (400, "QUERY_ID_UNKNOWN".to_owned()));
    let reply = register(&a, TITLE);
    assert_eq!((reply.status, reply.json()), (200, json!({ "id": wanted })));
    assert_eq!(read(&a, "/post/1", &wanted).text(), r#"{"title":"Rust at dawn"}"#);
    assert_eq!(read(&b, "/post/2", &wanted).text(), r#"{"title":"Slow bread"}"#, "another server");
    let list = read(&b, "/post", &wanted).json();
    assert_eq!(list["items"][0], json!({"title": "Rust at dawn"}));
    a.signal("KILL");
    a.wait();
    drop(b);
    let again = Server::with_database(&blog);
    assert_eq!(read(&again, "/post/1", &wanted).text(), r#"{"title":"Rust at dawn"}"#, "after a restart");
    assert_eq!(register(&again, TITLE).json(), json!({ "id": wanted }));
}

#[test]
fn a_query_registered_in_memory_is_lost_on_restart() {
    let blog = Database::blog();
    let config = configured(&blog, "[state]\nstore = \"memory\"");
    let server = Server::start(&["--config", &config]);
    assert_eq!(register(&server, TITLE).status, 200);
    assert_eq!(read(&server, "/post/1", &id("ql", TITLE)).status, 200);
    drop(server);
    let server = Server::start(&["--config", &config]);
    assert_eq!(why(&read(&server, "/post/1", &id("ql", TITLE))).1, "QUERY_ID_UNKNOWN");
}

#[test]
fn an_unwritable_state_falls_back_to_memory_with_a_warning() {
    let blog = Database::blog();
    // A folder has the name of the state file.
    std::fs::create_dir(blog.dir.path().join("data.db.mesh-state")).unwrap();
    let log = blog.dir.path().join("log");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--database", &blog.url()];
    let mut command = mesh_tests::command(&arguments);
    let server = Server::spawn(command.stderr(std::fs::File::create(&log).unwrap()));
    assert_eq!(register(&server, TITLE).status, 200);
    assert_eq!(read(&server, "/post/1", &id("ql", TITLE)).status, 200);
    // Another thread writes the log.
    wait_for("the warning is logged", || {
        let log = std::fs::read_to_string(&log).unwrap();
        if log.contains("data.db.mesh-state") && log.contains("memory") { Ok(()) } else { Err(log) }
    });
}

#[test]
fn an_invalid_query_is_refused_at_registration() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    for (body, error) in [
        (json!({"query": "{ post nosuch }", "format": "ql"}), "ValidationError"),
        (json!({"query": "{ post", "format": "ql"}), "ValidationError"),
        (json!({"query": "{ post title }", "format": "sql"}), "TransportError"),
        (json!({"query": 1}), "TransportError"),
        (json!({}), "TransportError"),
    ] {
        let reply = server.send(&Request::post("/mesh/queries", &body.to_string()));
        assert_eq!(why(&reply), (400, error.to_owned()), "{body}");
    }
    assert_eq!(read(&server, "/post", &id("ql", "{ post nosuch }")).status, 400);
}

#[test]
fn only_preloaded_queries_run_if_registration_is_closed() {
    let blog = Database::blog();
    let path = blog.dir.write("queries.json", &json!([{"query": TITLE, "format": "ql"}]).to_string());
    let open = Server::start(&["--config", &configured(&blog, "")]);
    let earlier = "{ post id author { name } }";
    assert_eq!(register(&open, earlier).status, 200);
    drop(open);
    let settings = format!("[persisted]\nregistration = \"closed\"\nonly = true\npreload = \"{path}\"");
    let server = Server::start(&["--config", &configured(&blog, &settings)]);
    assert_eq!(why(&read(&server, "/post/1", &id("ql", earlier))), (400, "QUERY_ID_UNKNOWN".to_owned()));
    let refused = (403, "QUERY_NOT_ALLOWED".to_owned());
    assert_eq!(read(&server, "/post/1", &id("ql", TITLE)).text(), r#"{"title":"Rust at dawn"}"#);
    assert_eq!(why(&register(&server, "{ post id }")), refused);
    assert_eq!(why(&server.get("/post/1", r#"{"post":{"$select":{"title":true}}}"#)), refused);
    let posted = Request::post("/mesh", &json!({"query": TITLE, "format": "ql"}).to_string());
    assert_eq!(why(&server.send(&posted)), refused);

    let _ =
        blog.dir.write("queries.json", &json!([{"query": "{ post nosuch }", "format": "ql"}]).to_string());
    let output =
        mesh_tests::run(&["serve", "--listen", "127.0.0.1:0", "--config", &configured(&blog, &settings)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("query 1") && said.contains("nosuch"), "{said}");
}

#[test]
fn the_store_is_bounded() {
    let blog = Database::blog();
    let server = Server::start(&["--config", &configured(&blog, "[persisted]\nmax_entries = 20")]);
    let query = |number: u32| format!("{{ post {}title }}", " ".repeat(number as usize));
    for number in 0..100 {
        assert_eq!(register(&server, &query(number)).status, 200);
    }
    assert_eq!(read(&server, "/post/1", &id("ql", &query(99))).status, 200);
    assert_eq!(why(&read(&server, "/post/1", &id("ql", &query(0)))).1, "QUERY_ID_UNKNOWN");
    let state = rusqlite::Connection::open(blog.dir.path().join("data.db.mesh-state")).unwrap();
    let kept: i64 = state.query_row("SELECT count(*) FROM query", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 20);
}

/// With integrity, both the registration and reads by id are signed.
#[test]
fn registrations_and_ids_are_signed() {
    let deployment = Deployment::new("");
    let server = deployment.start();
    let session = Session::begin(&server);
    let unsigned = register(&server, TITLE);
    assert_eq!(why(&unsigned), (401, "TOKEN_MISSING".to_owned()));
    let reply = session.post(&server, "/queries", &json!({"query": TITLE, "format": "ql"}));
    assert_eq!((reply.status, reply.json()), (200, json!({"id": id("ql", TITLE)})));
    let by_id = |message: &str| {
        let request = Request::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id("ql", TITLE));
        server.send(&session.sign(request, message))
    };
    assert_eq!(by_id(&id("ql", TITLE)).text(), r#"{"title":"Rust at dawn"}"#);
    assert_eq!(why(&by_id(&id("ql", "{ post id }"))), (403, "SIGNATURE_INVALID".to_owned()));
    assert_eq!(why(&read(&server, "/post/1", &id("ql", TITLE))), (401, "TOKEN_MISSING".to_owned()));
}

/// A read by id is not subject to the limit on the length of a query header.
#[test]
fn ids_allow_queries_that_are_too_long_for_a_header() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    let long = format!("{{ post {}title }}", " ".repeat(40_000));
    let reply = register(&server, &long);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let body: Value = reply.json();
    let reply = read(&server, "/post/1", body["id"].as_str().unwrap());
    assert_eq!(reply.text(), r#"{"title":"Rust at dawn"}"#);
}

#[test]
fn malformed_parameters_do_not_show_whether_a_query_is_registered() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    assert_eq!(register(&server, TITLE).status, 200);
    let refusals = [TITLE, "{ post body }"].map(|query| {
        let request = Request::new("GET", &server.path("/post/1")).header("X-Mesh-Params", "!!!");
        let reply = server.send(&request.header("X-Mesh-Query-Id", id("ql", query)));
        (why(&reply), reply.json()["message"].clone())
    });
    assert_eq!(refusals[0], refusals[1]);
    assert_eq!(refusals[0].0.0, 400);
}
