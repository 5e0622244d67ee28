//! Does what broke other servers of this kind leave this one unharmed? Inputs made to do damage, over sockets.
//!
//! What belongs to one subject stands with it: forged and altered tokens and unsigned routes in `integrity`,
//! files and forms in `uploads`, malformed queries and bounds in `errors`.

mod framing;
mod inputs;
pub(crate) mod page;
mod pressure;

use mesh_tests::{Database, Request, Response, Server};

const POST: &str = r#"{"post":{"$select":{"id":true}}}"#;

/// The record that shows that all is well.
fn is_well(server: &Server) {
    let reply = server.send(&Request::get("/mesh/post/1", POST));
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":1}"#));
}

/// A server of the blog with write routes and the playground, which shows statements.
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

/// What of a reply is no refusal as it should be.
fn refusal_faults(reply: &Response, status: u16, error: &str) -> Vec<String> {
    let mut faults = crate::table::shape_faults(reply);
    if reply.status != status {
        faults.push(format!("status {} in place of {status}", reply.status));
    }
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    if body["error"] != error {
        faults.push(format!("{} in place of {error}", body["error"]));
    }
    faults
}
