//! Attacks over sockets: request smuggling, injection, cross-site scripting and resource exhaustion.
//!
//! Attacks on one feature are tested with the feature: forged tokens and unsigned requests in `integrity`, files and
//! forms in `uploads`, malformed queries and limits in `errors`.

mod framing;
mod inputs;
pub(crate) mod page;
mod pressure;
mod relations;
mod work;

use mesh_tests::{Database, Request, Response, Server};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;

/// Asserts that the server still answers a read.
fn is_well(server: &Server) {
    let reply = server.send(&Request::get("/mesh/post/1", POST));
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":1}"#));
}

/// Starts a server of the blog with write routes and the playground, which shows statements.
fn everything() -> (Server, Database) {
    let blog = Database::blog();
    let config = blog.dir.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", &blog.url(), "--schema", &config, "--mutations", "--docs"]);
    (server, blog)
}

const SCHEMA: &str = r#"{"entities": {
    "post": {"fields": ["id", "title", "likes", "score", "authorId"], "columns": {"authorId": "author_id"},
             "writable": true},
    "user": {"fields": ["id", "name", "role"], "writable": ["name"]},
    "tag": {"fields": ["id", "label"], "writable": true}},
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
    "post.tags": {"entity": "tag", "type": "many",
                  "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}}}"#;

/// Returns how a reply deviates from the expected refusal.
fn refusal_faults(reply: &Response, status: u16, error: &str) -> Vec<String> {
    let mut faults = crate::support::refusals::shape_faults(reply);
    if reply.status != status {
        faults.push(format!("status {} in place of {status}", reply.status));
    }
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    if body["error"] != error {
        faults.push(format!("{} in place of {error}", body["error"]));
    }
    faults
}
