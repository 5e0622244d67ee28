//! The example `blog`: users can write what is theirs and nothing else. The example is started and used over sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use mesh_server::mesh_wire::base64;
use ring::{digest, hmac};
use serde_json::{Value, json};

/// The running example, stopped on drop.
struct Blog {
    child: Child,
    address: String,
    /// Kept open, since an example that cannot write to it would panic.
    _stderr: BufReader<ChildStderr>,
}

impl Drop for Blog {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for end in ["", "-wal", "-shm"] {
            let name = format!("mesh-blog-{}.db{end}", self.child.id());
            let _ = std::fs::remove_file(std::env::temp_dir().join(name));
        }
    }
}

/// Headers and body of a reply.
struct Reply {
    status: u16,
    head: String,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    #[track_caller]
    fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["code"].as_str()), (status, Some(code)), "{}", self.text);
    }
}

impl Blog {
    fn start() -> Self {
        let test = std::env::current_exe().unwrap();
        let file = format!("blog{}", std::env::consts::EXE_SUFFIX);
        let program = test.parent().unwrap().parent().unwrap().join("examples").join(file);
        let mut child = Command::new(&program)
            .arg("127.0.0.1:0")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{error}; build it with `cargo build --examples`"));
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}"));
        Self { child, address: address.to_owned(), _stderr: stderr }
    }

    fn open(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (host, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let mut reply = String::new();
        self.open(method, path, headers, body).read_to_string(&mut reply).unwrap();
        let (head, text) = reply.split_once("\r\n\r\n").unwrap();
        Reply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_ascii_lowercase(),
            text: text.to_owned(),
        }
    }

    fn login(&self, login: &str) -> User<'_> {
        let body = json!({"login": login, "password": "blog"}).to_string();
        let reply = self.send("POST", "/mesh/auth", JSON, &body);
        assert_eq!(reply.status, 200, "{}", reply.text);
        let issued = reply.json();
        let key = hmac::Key::new(hmac::HMAC_SHA256, issued["signingToken"].as_str().unwrap().as_bytes());
        User { blog: self, key, token: issued["token"].as_str().unwrap().to_owned() }
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

/// A logged-in user.
struct User<'b> {
    blog: &'b Blog,
    key: hmac::Key,
    token: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl User<'_> {
    fn signed(&self, message: &str) -> String {
        let signature = hex(hmac::sign(&self.key, message.as_bytes()).as_ref());
        format!("X-Mesh-Token: {}\r\nX-Mesh-Signature: sha256={signature}\r\n", self.token)
    }

    fn head(&self, query: &str) -> String {
        let query = base64::encode(query);
        format!("X-Mesh-Query: {query}\r\nX-Mesh-Format: ql\r\n{}", self.signed(&query))
    }

    fn read(&self, path: &str, query: &str) -> Value {
        self.blog.send("GET", &format!("/mesh/{path}"), &self.head(query), "").json()
    }

    /// A write whose body is signed as the value of the query header.
    fn write(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = body.to_string();
        let statement = base64::encode(&body);
        let headers = format!("{JSON}X-Mesh-Query: {statement}\r\n{}", self.signed(&statement));
        self.blog.send(method, &format!("/mesh/{path}"), &headers, &body)
    }

    /// A write whose body is signed by its digest.
    fn write_by_digest(&self, method: &str, path: &str, body: &str, signed_body: &str) -> Reply {
        let digest = hex(digest::digest(&digest::SHA256, signed_body.as_bytes()).as_ref());
        let headers = format!("{JSON}{}", self.signed(&format!("\n{digest}")));
        self.blog.send(method, &format!("/mesh/{path}"), &headers, body)
    }
}

#[test]
fn authors_write_and_change_their_own_posts() {
    let blog = Blog::start();
    let bo = blog.login("bo");
    let reply = bo.write("POST", "post", &json!({"title": "Rain", "body": "All day.", "published": true}));
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert!(reply.head.contains("location: /mesh/post/4"), "{}", reply.head);
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
    cy.write("PATCH", "post/4", &json!({"title": "Mine"})).refused(403, "FORBIDDEN");
    cy.write("DELETE", "post/4", &json!({})).refused(403, "FORBIDDEN");
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
    gil.write("POST", "post", &json!({"title": "No"})).refused(403, "FORBIDDEN");
    let reply = gil.write("POST", "comment", &json!({"postId": 1, "text": "Thanks!"}));
    assert_eq!((reply.status, reply.json()["userId"].as_i64()), (201, Some(4)), "{}", reply.text);
    // The third post is not published, so it does not exist for a guest.
    assert_eq!(gil.read("post/3", "{ post title }"), Value::Null);
    assert_eq!(gil.write("POST", "comment", &json!({"postId": 3, "text": "?"})).status, 400);
    assert_eq!(blog.login("bo").read("post/3", "{ post title }")["title"], "Notes for a talk");
    assert_eq!(blog.login("cy").read("post/3", "{ post title }"), Value::Null);
    gil.write("DELETE", "comment/2", &json!({})).refused(403, "FORBIDDEN");
    assert_eq!(gil.write("DELETE", "comment/4", &json!({})).status, 204);
    assert_eq!(blog.login("ada").write("DELETE", "comment/2", &json!({})).status, 204);
    let reply = gil.write("POST", "comment", &json!({"postId": 1, "text": ""}));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (409, Some("ConflictError")));
}

#[test]
fn bodies_are_signed_in_either_form() {
    let blog = Blog::start();
    let bo = blog.login("bo");
    let body = r#"{"title":"By digest"}"#;
    assert_eq!(bo.write_by_digest("POST", "post", body, body).status, 201);
    bo.write_by_digest("POST", "post", r#"{"title":"Another"}"#, body).refused(403, "SIGNATURE_INVALID");
    // The signature covers the header's value; another body is sent.
    let statement = base64::encode(body);
    let headers = format!("{JSON}X-Mesh-Query: {statement}\r\n{}", bo.signed(&statement));
    for other in [r#"{"title":"Another"}"#, ""] {
        blog.send("POST", "/mesh/post", &headers, other).refused(403, "SIGNATURE_INVALID");
    }
    blog.send("DELETE", "/mesh/post/1", &headers, "").refused(403, "SIGNATURE_INVALID");
    let nothing = format!("X-Mesh-Query: e30=\r\n{}", bo.signed("e30="));
    assert_eq!(blog.send("DELETE", "/mesh/post/1", &nothing, "").status, 204);
    assert_eq!(blog.send("DELETE", "/mesh/post/4", &bo.signed(""), "").status, 204);
    blog.send("POST", "/mesh/post", JSON, body).refused(401, "TOKEN_MISSING");
}

#[test]
fn paths_list_their_methods() {
    let blog = Blog::start();
    let allow = |path: &str| {
        let head = blog.send("OPTIONS", path, "", "").head;
        head.lines().find_map(|line| line.strip_prefix("allow: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(allow("/mesh/post"), "get, head, post, options");
    assert_eq!(allow("/mesh/post/1"), "get, head, put, patch, delete, options");
    assert_eq!(allow("/mesh/user/1"), "get, head, put, options");
    let reply = blog.send("DELETE", "/mesh/post", "", "");
    assert_eq!(reply.status, 405);
    assert!(reply.head.contains("allow: get, head, post, options"), "{}", reply.head);
    assert_eq!(blog.send("DELETE", "/mesh/user/1", "", "").status, 405);
    let page = blog.send("GET", "/", "", "");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("text/html") && page.text.contains("<h1>Blog</h1>"));
}

#[test]
fn the_page_shows_new_comments() {
    let blog = Blog::start();
    let (bo, gil) = (blog.login("bo"), blog.login("gil"));
    let head = bo.head("{ post comments { text } }");
    let mut events = BufReader::new(blog.open("GET", "/mesh/post/2/events", &head, "")).lines();
    let mut next = || {
        let data = events.by_ref().map(Result::unwrap).find(|line| line.starts_with("data:")).unwrap();
        serde_json::from_str::<Value>(data.strip_prefix("data:").unwrap()).unwrap()
    };
    assert_eq!(next(), json!({"comments": [{"text": "Lovely."}]}));
    assert_eq!(gil.write("POST", "comment", &json!({"postId": 2, "text": "Indeed."})).status, 201);
    assert_eq!(next(), json!({"comments": [{"text": "Lovely."}, {"text": "Indeed."}]}));
}
