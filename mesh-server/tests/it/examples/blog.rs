//! The example `blog`: users can write only their own records. The example is started and used over sockets.

use std::ops::Deref;

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::Exchange;
use mesh_tests::kit::stream::{Next, Stream};
use mesh_tests::{PATIENCE, Request, Response, encode};
use serde_json::{Value, json};

use super::Example;

/// The running example, whose database is removed on drop.
struct Blog(Example);

impl Deref for Blog {
    type Target = Example;

    fn deref(&self) -> &Example {
        &self.0
    }
}

impl Drop for Blog {
    fn drop(&mut self) {
        let process = self.child.id();
        let _ = self.0.child.kill();
        let _ = self.0.child.wait();
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(std::env::temp_dir().join(format!("mesh-blog-{process}.db{end}")));
        }
    }
}

#[track_caller]
fn assert_refused(reply: &Response, status: u16, code: &str) {
    assert_eq!((reply.status, reply.json()["code"].as_str()), (status, Some(code)), "{}", reply.text());
}

impl Blog {
    fn start() -> Self {
        Self(Example::start("blog"))
    }

    fn login(&self, login: &str) -> User<'_> {
        let body = json!({"login": login, "password": "blog"}).to_string();
        let reply = self.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = |name: &str| reply.json()[name].as_str().unwrap().to_owned();
        User { blog: self, key: text("signingToken"), token: text("token") }
    }
}

/// Returns a request with a JSON body.
fn json_request(method: &str, path: &str, body: &str) -> Request {
    Request::new(method, path).header("Content-Type", "application/json").body(body)
}

/// A logged-in user.
struct User<'b> {
    blog: &'b Blog,
    key: String,
    token: String,
}

impl User<'_> {
    fn sign(&self, request: Request, message: &str) -> Request {
        let signature = encoding::signature(&self.key, message);
        request.header("X-Mesh-Token", &self.token).header("X-Mesh-Signature", signature)
    }

    fn read_request(&self, path: &str, query: &str) -> Request {
        let request = Request::get(&format!("/mesh/{path}"), query).header("X-Mesh-Format", "ql");
        self.sign(request, &encode(query))
    }

    fn read(&self, path: &str, query: &str) -> Value {
        self.blog.send(&self.read_request(path, query)).json()
    }

    /// Sends a write whose body is signed as the value of the query header.
    fn write(&self, method: &str, path: &str, body: &Value) -> Response {
        let body = body.to_string();
        let request = json_request(method, &format!("/mesh/{path}"), &body).query(&body);
        self.blog.send(&self.sign(request, &encode(&body)))
    }
}

#[test]
fn authors_write_and_change_their_own_posts() {
    let blog = Blog::start();
    let bo = blog.login("bo");
    let reply = bo.write("POST", "post", &json!({"title": "Rain", "body": "All day.", "published": true}));
    assert_eq!(reply.status, 201, "{}", reply.text());
    assert_eq!(reply.header("location"), Some("/mesh/post/4"));
    assert_eq!((reply.json()["authorId"].as_i64(), reply.json()["title"].as_str()), (Some(2), Some("Rain")));
    assert_eq!(
        bo.read("post/4", "{ post heading author { name } }"),
        json!({"heading": "#4 Rain", "author": {"name": "Bo Author"}})
    );
    let reply = bo.write("PATCH", "post/4", &json!({"title": "Sun"}));
    assert_eq!((reply.status, reply.json()["title"].as_str()), (200, Some("Sun")));
    // Users cannot write in the name of others.
    let reply = bo.write("POST", "post", &json!({"title": "Forged", "authorId": 1}));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (400, Some("ValidationError")));
    let cy = blog.login("cy");
    assert_refused(&cy.write("PATCH", "post/4", &json!({"title": "Mine"})), 403, "FORBIDDEN");
    assert_refused(&cy.write("DELETE", "post/4", &json!({})), 403, "FORBIDDEN");
    let ada = blog.login("ada");
    assert_eq!(ada.write("PATCH", "post/4", &json!({"title": "Edited"})).status, 200);
    assert_eq!(bo.write("DELETE", "post/4", &json!({})).status, 204);
    assert_eq!(bo.write("DELETE", "post/4", &json!({})).status, 404);
    assert_eq!(bo.write("PATCH", "post/x", &json!({})).status, 404);
}

#[test]
fn guests_comment_on_posts_that_they_see() {
    let blog = Blog::start();
    let gil = blog.login("gil");
    assert_refused(&gil.write("POST", "post", &json!({"title": "No"})), 403, "FORBIDDEN");
    let reply = gil.write("POST", "comment", &json!({"postId": 1, "text": "Thanks!"}));
    assert_eq!((reply.status, reply.json()["userId"].as_i64()), (201, Some(4)), "{}", reply.text());
    // The third post is not published, so it does not exist for a guest.
    assert_eq!(gil.read("post/3", "{ post title }"), Value::Null);
    assert_eq!(gil.write("POST", "comment", &json!({"postId": 3, "text": "?"})).status, 400);
    assert_eq!(blog.login("bo").read("post/3", "{ post title }")["title"], "Notes for a talk");
    assert_eq!(blog.login("cy").read("post/3", "{ post title }"), Value::Null);
    assert_refused(&gil.write("DELETE", "comment/2", &json!({})), 403, "FORBIDDEN");
    assert_eq!(gil.write("DELETE", "comment/4", &json!({})).status, 204);
    assert_eq!(blog.login("ada").write("DELETE", "comment/2", &json!({})).status, 204);
    let reply = gil.write("POST", "comment", &json!({"postId": 1, "text": ""}));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (409, Some("ConflictError")));
}

#[test]
fn the_page_shows_new_comments() {
    let blog = Blog::start();
    let page = blog.send(&Request::new("GET", "/"));
    assert!(
        page.header("content-type").unwrap().contains("text/html") && page.text().contains("<h1>Blog</h1>")
    );
    let (bo, gil) = (blog.login("bo"), blog.login("gil"));
    let request = bo.read_request("post/2/events", "{ post comments { text } }");
    let mut events = Stream::new(Exchange::begin(&blog.address.to_string(), &request).unwrap());
    let mut next = || match events.next(PATIENCE) {
        Next::Event(event) => serde_json::from_str::<Value>(&event.data).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(next(), json!({"comments": [{"text": "Lovely."}]}));
    assert_eq!(gil.write("POST", "comment", &json!({"postId": 2, "text": "Indeed."})).status, 201);
    assert_eq!(next(), json!({"comments": [{"text": "Lovely."}, {"text": "Indeed."}]}));
}
