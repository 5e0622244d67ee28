//! Tools for agents: `mesh-server mcp` and `POST {base}/mcp`.

mod client;
mod hostile;
mod http;
mod stdio;

use mesh_tests::Database;
use serde_json::{Value, json};

/// A schema in which editors see the posts of their author, and readers only titles.
fn policies() -> Value {
    json!({
        "entities": {
            "post": {
                "table": "posts", "fields": ["id", "title", "likes", "authorId"], "columns": {"authorId": "author_id"},
                "types": {"id": "integer", "authorId": "integer"}, "writable": true
            },
            "user": {"table": "users", "fields": ["id", "name"]}
        },
        "joins": {"post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"}},
        "policies": {
            "editor": {
                "post": {
                    "$where": {"field": "authorId", "op": "eq", "value": {"session": "userId"}},
                    "writable": {"update": ["title"]}
                },
                "user": true
            },
            "reader": {"post": {"fields": ["id", "title"]}}
        }
    })
}

/// Queries that are registered at start: with a name, without one, and one that readers may not run.
const QUERIES: &str = r#"[
    {"name": "posts_by_likes", "description": "Posts with at least so many likes",
     "query": "{\"post\":{\"$select\":{\"title\":true},\"$where\":{\"field\":\"likes\",\"op\":\"gte\",\"value\":{\"$param\":\"least\"}},\"$page\":{\"first\":{\"$param\":\"size\"}}}}",
     "params": {"size": {"type": "integer", "default": 2}}},
    {"query": "{ post title }", "format": "ql"},
    {"name": "authors", "query": "{ post title author { name } }", "format": "ql"}
]"#;

/// Writes settings with the policies and the queries. Returns the path of the file.
fn configured(blog: &Database, more: &str) -> String {
    let schema = blog.dir.write("schema.json", &policies().to_string());
    let queries = blog.dir.write("queries.json", QUERIES);
    let url = blog.url();
    let settings = format!(
        "database = \"{url}\"\nschema = \"{schema}\"\n{more}\n[persisted]\npreload = \"{queries}\"\n"
    );
    blog.dir.write("mesh.toml", &settings)
}

/// Returns the message of a call.
fn call(name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

/// Returns whether a result is an error, and its parsed text.
fn outcome(reply: &Value) -> (bool, Value) {
    let result = &reply["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no result: {reply}"));
    (result["isError"] == true, serde_json::from_str(text).unwrap_or_else(|_| panic!("not JSON: {text}")))
}

fn tool_names(reply: &Value) -> Vec<&str> {
    let tools = reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {reply}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}
