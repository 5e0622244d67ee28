//! `POST {base}/mcp`: the same credentials, limits and records as other routes.

use std::fs;

use mesh_tests::{Database, Request, Response, Server, run, wait_until};
use serde_json::{Value, json};

use super::{call, configured, outcome, tool_names};
use crate::support::sessions::{Deployment, Session, why};

/// Returns the request of a message.
pub(super) fn message(server: &Server, message: &Value) -> Request {
    Request::post(&server.path("/mcp"), &message.to_string())
        .header("Accept", "application/json, text/event-stream")
}

fn run_query(server: &Server, query: &str) -> Request {
    message(server, &call("run_query", &json!({"query": query})))
}

fn serve(blog: &Database, more: &str) -> Server {
    let config = blog.dir.write("mesh.toml", &format!("database = \"{}\"\n{more}\n", blog.url()));
    Server::start(&["--config", &config])
}

fn titles(reply: &Response) -> usize {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let (is_error, rows) = outcome(&reply.json());
    assert!(!is_error, "{rows}");
    rows["items"].as_array().unwrap().len()
}

#[test]
fn the_route_exists_only_where_it_is_enabled() {
    let blog = Database::blog();
    let off = Server::with_database(&blog);
    assert_eq!(
        off.send(&run_query(&off, "{ post title }")).status,
        405,
        "a write of an entity, and writes are off"
    );
    let on = serve(&blog, "[mcp]\nenabled = true");
    let reply = on.send(&run_query(&on, "{ post title }"));
    assert_eq!(titles(&reply), 4);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(reply.header("x-request-id").is_some());
    for method in ["GET", "DELETE", "PUT"] {
        let reply = on.send(&Request::new(method, &on.path("/mcp")));
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, OPTIONS")), "{method}");
    }
}

#[test]
fn an_entity_of_the_name_of_the_route_is_refused_at_start() {
    let database = Database::new("CREATE TABLE mcp (id INTEGER PRIMARY KEY);");
    let config = database
        .dir
        .write("mesh.toml", &format!("database = \"{}\"\n[mcp]\nenabled = true\n", database.url()));
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("entity 'mcp'"), "{output:?}");
    let checked = run(&["check", "--config", &config]);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
}

/// Attack through the tools for agents: a signature of another message, or of an ended session.
#[test]
fn messages_are_signed_as_other_bodies_are() {
    let deployment = Deployment::new("[mcp]\nenabled = true");
    let server = deployment.start();
    let query = call("run_query", &json!({"query": "{ post title }"}));
    let plain = message(&server, &query);
    assert_eq!(why(&server.send(&plain)), (401, "TOKEN_MISSING".to_owned()));
    let session = Session::begin(&server);
    let signed = |body: &Value| {
        let hash = format!("\n{}", mesh_tests::kit::encoding::sha256(body.to_string()));
        session.sign(message(&server, &query), &hash)
    };
    assert_eq!(titles(&server.send(&signed(&query))), 3);
    let other = call("run_query", &json!({"query": "{ post id }"}));
    assert_eq!(why(&server.send(&signed(&other))), (403, "SIGNATURE_INVALID".to_owned()));
    assert_eq!(session.logout(&server).status, 200);
    assert_eq!(why(&server.send(&signed(&query))), (401, "TOKEN_REVOKED".to_owned()));
}

/// Returns settings with API keys, and a key of each role.
fn keys(blog: &Database, more: &str) -> (String, [String; 2]) {
    blog.connect()
        .execute_batch("CREATE TABLE keys (hash TEXT PRIMARY KEY, owner TEXT, role TEXT, expires TEXT);")
        .unwrap();
    let config = configured(blog, &format!("api_keys.table = \"keys\"\n{more}"));
    let key = |role: &str| {
        let output = run(&["api-key", "--config", &config, "--role", role, "--owner", "2"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let keys = [key("editor"), key("reader")];
    (config, keys)
}

#[test]
fn an_api_key_decides_what_its_agent_can_do() {
    let blog = Database::blog();
    let (config, [editor, reader]) = keys(&blog, "mcp.enabled = true");
    let server = Server::start(&["--config", &config]);
    let with =
        |request: Request, key: &str| server.send(&request.header("Authorization", format!("Bearer {key}")));
    assert_eq!(titles(&with(run_query(&server, "{ post title }"), &editor)), 2);
    assert_eq!(titles(&with(run_query(&server, "{ post title }"), &reader)), 4);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let listed = |key: &str| {
        let reply = with(message(&server, &list), key).json();
        tool_names(&reply).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert!(listed(&editor).contains(&"authors".to_owned()));
    let of_reader = listed(&reader);
    assert!(!of_reader.contains(&"authors".to_owned()), "its names are hidden from readers: {of_reader:?}");
    let reply = with(message(&server, &call("authors", &json!({}))), &reader).json();
    assert_eq!(reply["error"]["code"], -32602, "as if it did not exist: {reply}");
    assert_eq!(server.send(&run_query(&server, "{ post title }")).status, 401);
    assert_eq!(
        why(&with(run_query(&server, "{ post title }"), "mk_wrong")),
        (401, "TOKEN_INVALID".to_owned())
    );
}

#[test]
fn writes_are_in_the_audit_log_with_their_user() {
    let blog = Database::blog();
    let log = blog.dir.path().join("audit.jsonl");
    let more = format!(
        "mcp.enabled = \"writes\"\nmutations.enabled = true\naudit.store = \"file:{}\"",
        log.display()
    );
    let (config, [editor, _]) = keys(&blog, &more);
    let server = Server::start(&["--config", &config]);
    let steps = json!({"steps": [{"method": "PUT", "path": "post/2", "body": {"title": "New"}}]});
    let request =
        message(&server, &call("write_records", &steps)).header("Authorization", format!("Bearer {editor}"));
    let (is_error, results) = outcome(&server.send(&request).json());
    assert!(!is_error, "{results}");
    let entry = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.into_iter().find(|entry| entry["path"] == "/mesh/mcp" && entry["event"] == "write")
    };
    wait_until("the write is logged", || entry().is_some());
    let entry = entry().unwrap();
    assert_eq!((&entry["user"], &entry["role"]), (&json!("2"), &json!("editor")), "{entry}");
    assert_eq!(entry["steps"][0]["entity"], "post");
}

#[test]
fn limits_of_rates_hold_for_tools() {
    let blog = Database::blog();
    let server = serve(&blog, "[limits]\nper_address = \"3/m\"\n[mcp]\nenabled = true");
    let statuses: Vec<u16> =
        (0..5).map(|_| server.send(&run_query(&server, "{ post title }")).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429], "each call counts once");
}
