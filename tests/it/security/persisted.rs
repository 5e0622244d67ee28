//! Persisted queries: registration, storage, and reads by id (SPEC §8).

use mesh_tests::kit::encoding;
use mesh_tests::{Database, Request, Response, Server, wait_for};
use serde_json::json;

use crate::support::sessions::why;

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
