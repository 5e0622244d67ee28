//! `mesh-server mcp`: a golden transcript, roles, writes and registered queries.

use std::fmt::Write as _;
use std::fs;

use mesh_tests::guide::root;
use mesh_tests::{Database, command, wait_until};
use serde_json::{Value, json};

use super::client::{Agent, initialize};
use super::{configured, outcome, tool_names};

/// Returns the messages of an agent, with valid and invalid calls.
fn session() -> Vec<Value> {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let newest = json!({"post": {
        "$select": {"title": true, "author": {"$select": {"name": true}}},
        "$where": {"field": "likes", "op": "gte", "value": 6},
        "$orderBy": [{"field": "id", "direction": "desc"}], "$page": {"first": 1, "total": true}
    }});
    let calls = [
        ("describe_schema", json!({"first": 1})),
        ("describe_schema", json!({"entity": "user"})),
        ("describe_schema", json!({"entity": "usr"})),
        ("check_query", json!({"query": "{ post\n  titel }"})),
        (
            "check_query",
            json!({"query": {"post": {"$select": {"id": true}, "$where": {"field": "id", "op": "eq", "value": {"$param": "x"}}}}}),
        ),
        ("run_query", json!({"query": "{ post titel }"})),
        ("run_query", json!({"query": "{ post title }", "id": 1})),
        ("run_query", json!({"query": newest})),
        ("run_query", json!({"qurey": "{ post title }"})),
        ("run_quary", json!({"query": "{ post title }"})),
        ("write_records", json!({"steps": [{"method": "DELETE", "path": "post/1"}]})),
    ];
    let calls = calls.iter().map(|(name, arguments)| super::call(name, arguments));
    [initialize(), list].into_iter().chain(calls).collect()
}

/// Replaces values that differ between runs.
fn stable(reply: &Value) -> String {
    let mut text = reply.to_string().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    for (name, shown) in [("requestId", "ID"), ("startCursor", "CURSOR"), ("endCursor", "CURSOR")] {
        let marker = format!(r#"\"{name}\":\""#);
        if let Some(start) = text.find(&marker).map(|at| at + marker.len()) {
            let end = start + text[start..].find('\\').unwrap();
            text.replace_range(start..end, shown);
        }
    }
    text
}

#[test]
fn a_session_is_as_in_the_transcript() {
    let blog = Database::blog();
    let mut agent = Agent::spawn(&["--database", &blog.url()]);
    let mut transcript = String::new();
    for message in session() {
        let reply = agent.ask(&message);
        writeln!(transcript, "> {message}\n< {}", stable(&reply)).unwrap();
        if message["method"] == "initialize" {
            agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        }
    }
    assert!(agent.close().success());
    let path = root().join("tests/fixtures/mcp/transcript.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &transcript).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap();
    for (line, expected) in transcript.lines().zip(expected.lines()) {
        assert_eq!(line, expected, "UPDATE_EXPECT=1 writes the transcript");
    }
    assert_eq!(transcript.lines().count(), expected.lines().count());
}

#[test]
fn a_schema_with_policies_needs_a_role() {
    let blog = Database::blog();
    let config = configured(&blog, "");
    let refused = |arguments: &[&str]| {
        let all = [&["mcp", "--log", "off", "--config", &config], arguments].concat();
        let output = command(&all).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(output.stdout, b"", "standard output has messages only");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&[]).contains("--role NAME"));
    assert!(refused(&["--role", "editer"]).contains("did you mean 'editor'?"));
    assert!(refused(&["--claim", "team=1"]).contains("--role"));
}

/// Attack through the tools for agents: names that the role cannot see, through any tool.
#[test]
fn the_role_decides_what_tools_show_and_return() {
    let blog = Database::blog();
    let config = configured(&blog, "");
    let mut editor = Agent::start(&["--config", &config, "--role", "editor", "--user", "2"]);
    let query = json!({"query": "{ post id title }"});
    let (_, rows) = outcome(&editor.call("run_query", &query));
    let titles: Vec<_> = rows["items"].as_array().unwrap().iter().map(|row| row["title"].clone()).collect();
    assert_eq!(titles, [json!("Slow bread"), json!("A map")], "those of author 2");
    let mut reader = Agent::start(&["--config", &config, "--role", "reader"]);
    let (_, schema) = outcome(&reader.call("describe_schema", &json!({})));
    let names: Vec<_> =
        schema["entities"].as_array().unwrap().iter().map(|entity| entity["name"].clone()).collect();
    assert_eq!(names, [json!("post")]);
    assert_eq!(schema["entities"][0]["fields"].as_object().unwrap().len(), 2);
    for hidden in ["{ post likes }", "{ user name }", "{ post author { name } }"] {
        let (is_error, error) = outcome(&reader.call("run_query", &json!({"query": hidden})));
        assert!(is_error, "{hidden}");
        assert_eq!(error["error"], "ValidationError", "as if it did not exist: {error}");
        let (_, checked) = outcome(&reader.call("check_query", &json!({"query": hidden})));
        assert_eq!(checked["valid"], false, "{hidden}");
    }
}

#[test]
fn registered_queries_are_tools_with_typed_arguments() {
    let blog = Database::blog();
    let config = configured(&blog, "");
    let mut editor = Agent::start(&["--config", &config, "--role", "editor", "--user", "2"]);
    let listed = editor.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let names = tool_names(&listed);
    assert_eq!(names[..4], ["describe_schema", "check_query", "run_query", "explain_query"]);
    assert_eq!((names[4], names[6]), ("posts_by_likes", "authors"));
    assert!(names[5].starts_with("post_"), "a name is derived: {}", names[5]);
    let tool = &listed["result"]["tools"][4];
    assert_eq!(tool["description"], "Posts with at least so many likes");
    assert_eq!(
        tool["inputSchema"],
        json!({
            "type": "object",
            "properties": {"least": {"type": "integer"}, "size": {"type": "integer", "default": 2}},
            "required": ["least"], "additionalProperties": false
        })
    );
    let (is_error, rows) = outcome(&editor.call("posts_by_likes", &json!({"least": 7})));
    assert_eq!((is_error, &rows["items"]), (false, &json!([{"title": "Slow bread"}])));
    for (arguments, said) in [
        (json!({}), "'least'"),
        (json!({"least": "many"}), "'least'"),
        (json!({"least": 1, "most": 2}), "'most'"),
    ] {
        let (is_error, error) = outcome(&editor.call("posts_by_likes", &arguments));
        assert!(is_error && error["message"].as_str().unwrap().contains(said), "{error}");
    }
    let (_, record) = outcome(&editor.call("authors", &json!({"id": 2})));
    assert_eq!(record, json!({"title": "Slow bread", "author": {"name": "Bo"}}));
}

#[test]
fn only_registered_queries_leave_no_tool_for_others() {
    let blog = Database::blog();
    let config = blog.dir.write(
        "only.toml",
        &format!(
            "database = \"{}\"\n[persisted]\nonly = true\npreload = \"{}\"\n",
            blog.url(),
            blog.dir
                .write("queries.json", r#"[{"name": "titles", "query": "{ post title }", "format": "ql"}]"#)
        ),
    );
    let mut agent = Agent::start(&["--config", &config]);
    let listed = agent.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(tool_names(&listed), ["describe_schema", "titles"]);
    for name in ["run_query", "check_query", "explain_query"] {
        let reply = agent.call(name, &json!({"query": "{ user name }"}));
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
    }
    let (_, rows) = outcome(&agent.call("titles", &json!({})));
    assert_eq!(rows["items"].as_array().unwrap().len(), 4);
}

/// Attack through the tools for agents: writes without the flag, or beyond the role.
#[test]
fn writes_need_the_flag_and_obey_the_role() {
    let blog = Database::blog();
    let config = configured(&blog, "[mutations]\nenabled = true\n[mcp]\nenabled = \"writes\"");
    let role = ["--config", config.as_str(), "--role", "editor", "--user", "2"];
    let step = |path: &str| json!({"steps": [{"method": "PUT", "path": path, "body": {"title": "New"}}]});
    let mut reading = Agent::start(&role);
    let reply = reading.call("write_records", &step("post/2"));
    assert_eq!(reply["error"]["code"], -32602, "the settings are those of a server: {reply}");
    let mut writing = Agent::start(&[&role[..], &["--writes"]].concat());
    let (is_error, results) = outcome(&writing.call("write_records", &step("post/2")));
    assert_eq!((is_error, &results["results"][0]["status"]), (false, &json!(200)), "{results}");
    let (is_error, error) = outcome(&writing.call("write_records", &step("post/1")));
    assert_eq!((is_error, &error["error"]), (true, &json!("NotFound")), "the post of another author");
    let both = json!({"steps": [
        {"method": "PUT", "path": "post/3", "body": {"title": "Lost"}},
        {"method": "PUT", "path": "post/3", "body": {"likes": 100}}
    ]});
    let (is_error, error) = outcome(&writing.call("write_records", &both));
    assert_eq!((is_error, &error["step"]), (true, &json!(1)), "{error}");
    let titles: Vec<String> = {
        let connection = blog.connect();
        let mut select = connection.prepare("SELECT title FROM posts WHERE id < 4 ORDER BY id").unwrap();
        let rows = select.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(titles, ["Rust at dawn", "New", "A map"], "all steps or none");
}

/// Attack through the tools for agents: writes that leave no trace: by the account of the command, or failed
/// ones whose reply is a success.
#[test]
fn the_audit_log_names_the_local_caller_and_failures() {
    let blog = Database::blog();
    let log = blog.dir.path().join("audit.jsonl");
    let more = format!("[mutations]\nenabled = true\n[audit]\nstore = \"file:{}\"", log.display());
    let config = configured(&blog, &more);
    let mut agent =
        Agent::start(&["--config", config.as_str(), "--role", "editor", "--user", "2", "--writes"]);
    let step = |path: &str| json!({"steps": [{"method": "PUT", "path": path, "body": {"title": "New"}}]});
    assert!(!outcome(&agent.call("write_records", &step("post/2"))).0);
    assert!(outcome(&agent.call("write_records", &step("post/1"))).0, "the post of another author");
    let mut entries = Vec::new();
    wait_until("both writes are logged", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect();
        entries.len() == 2
    });
    for (entry, (outcome, status)) in entries.iter().zip([("ok", 200), ("failed", 404)]) {
        assert_eq!((&entry["outcome"], &entry["status"]), (&json!(outcome), &json!(status)), "{entry}");
        assert_eq!((&entry["event"], &entry["caller"]), (&json!("write"), &json!("local")), "{entry}");
        assert_eq!((&entry["user"], &entry["role"]), (&json!("2"), &json!("editor")), "{entry}");
    }
}

/// Attack through the tools for agents: results that fill the context of the model, or a part that passes for
/// the whole.
#[test]
fn large_results_of_writes_undo_them() {
    let blog = Database::blog();
    let config = configured(&blog, "[mutations]\nenabled = true\n[limits]\nrows = 1");
    let mut agent =
        Agent::start(&["--config", config.as_str(), "--role", "editor", "--user", "2", "--writes"]);
    let write = json!({"method": "PUT", "path": "post/2", "body": {"title": "New"}});
    let read = json!({"method": "GET", "path": "post/3", "query": "{ post title }", "format": "ql"});
    let (is_error, error) = outcome(&agent.call("write_records", &json!({"steps": [write, read]})));
    assert_eq!((is_error, &error["code"]), (true, &json!("RESULT_TOO_LARGE")), "{error}");
    let connection = blog.connect();
    let title: String =
        connection.query_row("SELECT title FROM posts WHERE id = 2", [], |row| row.get(0)).unwrap();
    assert_ne!(title, "New");
}

#[test]
fn explanations_show_no_sql() {
    let blog = Database::blog();
    let mut agent = Agent::start(&["--database", &blog.url()]);
    let query = json!({"query": "{ post title author { name } }"});
    let (is_error, explained) = outcome(&agent.call("explain_query", &query));
    assert_eq!((is_error, &explained["rows"]), (false, &json!(8)), "{explained}");
    assert_eq!(explained["plan"]["joins"][0]["path"], "post.author");
    assert_eq!(explained.get("sql"), None, "{explained}");
}
