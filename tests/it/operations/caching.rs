//! `Cache-Control` of replies follows the settings, and is never public for replies that depend on the caller.

use std::net::TcpListener;

use mesh_tests::{Database, Request, Response, Server, wait_until};

use crate::support::sessions::{Deployment, Session};

const POST: &str = r#"{"post":{"$select":{"title":true}}}"#;
const USER: &str = r#"{"user":{"$select":{"name":true}}}"#;

const CACHING: &str = "[caching]\ncontrol = \"public, max-age=5\"\n[caching.entities]\nuser = \"no-store\"\n";

fn control(reply: &Response) -> &str {
    reply.header("cache-control").unwrap_or_default()
}

fn serve(database: &Database, settings: &str) -> Server {
    let config = format!("database = \"{}\"\n{settings}", database.url());
    Server::start(&["--config", &database.dir.write("mesh.toml", &config)])
}

#[test]
fn reads_by_get_have_the_configured_directives() {
    let blog = Database::blog();
    let server = serve(&blog, CACHING);
    let fresh = server.get("/post/1", POST);
    assert_eq!((fresh.status, control(&fresh)), (200, "public, max-age=5"));
    let tag = fresh.header("etag").expect("a tag").to_owned();
    let unchanged = server.send(&Request::get("/mesh/post/1", POST).header("If-None-Match", &tag));
    assert_eq!((unchanged.status, control(&unchanged)), (304, "public, max-age=5"));
    assert_eq!(control(&server.get("/post", POST)), "public, max-age=5");
    assert_eq!(control(&server.send(&Request::new("HEAD", "/mesh/post/1").query(POST))), "public, max-age=5");
    assert_eq!(control(&server.get("/user", USER)), "no-store", "the entity's own");
    // The settings apply to no other requests.
    let body = serde_json::json!({"query": POST}).to_string();
    assert_eq!(control(&server.send(&Request::post("/mesh", &body))), "no-cache");
    assert_eq!(control(&server.send(&Request::new("PUT", "/mesh/post/1").query(POST))), "no-cache");
    let refused = server.get("/post", r#"{"post":{"$select":{"titel":true}}}"#);
    assert_eq!((refused.status, control(&refused)), (400, "no-store"));
}

#[test]
fn signed_answers_are_private_whatever_is_configured() {
    let deployment = Deployment::new("caching.control = \"max-age=5\"\n");
    let server = deployment.start();
    let session = Session::begin(&server);
    assert_eq!(control(&session.get(&server, "/post/1", POST)), "private, max-age=5");
    let body = serde_json::json!({"query": POST});
    assert_eq!(control(&session.post(&server, "", &body)), "private, no-cache");
}

#[test]
fn answers_that_depend_on_policies_are_private_whatever_is_configured() {
    let blog = Database::blog();
    let schema = r#"{"entities": {"post": {"fields": ["id", "title"]}, "user": {"fields": ["id", "name"]}},
        "policies": {"*": {"post": {"fields": ["id", "title"]}, "user": true}}}"#;
    let schema = blog.dir.write("schema.json", schema);
    let server = serve(&blog, &format!("schema = \"{schema}\"\n{CACHING}"));
    let reply = server.get("/post/1", POST);
    assert_eq!((reply.status, control(&reply)), (200, "private, max-age=5"), "{}", reply.text());
    assert_eq!(control(&server.get("/user/1", USER)), "private, no-store");
}

#[test]
fn settings_of_an_unknown_entity_are_faults() {
    let blog = Database::blog();
    let [check, serve] = [(&["check"][..], 1), (&["serve", "--listen", "127.0.0.1:0", "--log", "off"], 2)];
    let caching = "[caching.entities]\npots = \"no-store\"\n";
    let docs = "[docs]\nenabled = true\nentities = [\"user\", \"pots\"]\n";
    for (settings, (arguments, status)) in [(caching, check), (caching, serve), (docs, check), (docs, serve)]
    {
        let config = blog.dir.write("mesh.toml", &format!("database = \"{}\"\n{settings}", blog.url()));
        let output = mesh_tests::run(&[arguments, &["--config", &config]].concat());
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains("there is no entity 'pots'; did you mean 'post'?"), "{said}");
    }
}

#[test]
fn tags_name_what_a_response_was_read_from() {
    let blog = Database::blog();
    let server = serve(&blog, &CACHING.replace("[caching]\n", "[caching]\ntags = \"surrogate-key\"\n"));
    let tags = |reply: &Response| reply.header("surrogate-key").unwrap_or_default().to_owned();
    let point = server.get("/post/1", POST);
    assert_eq!(tags(&point), "/mesh /mesh/post/* /mesh/post/1");
    let tag = point.header("etag").expect("a tag").to_owned();
    let unchanged = server.send(&Request::get("/mesh/post/1", POST).header("If-None-Match", &tag));
    assert_eq!((unchanged.status, tags(&unchanged)), (304, tags(&point)));
    assert_eq!(tags(&server.get("/post", POST)), "/mesh /mesh/post");
    let author = r#"{"post":{"$select":{"author":{"$select":{"name":true}}}}}"#;
    assert_eq!(tags(&server.get("/post/1", author)), "/mesh /mesh/post/* /mesh/post/1 /mesh/user");
    for other in [
        server.send(&Request::new("PUT", "/mesh/post/1").query(POST)),
        server.get("/post/1", r#"{"post":{"$select":{"titel":true}}}"#),
    ] {
        assert_eq!(other.header("surrogate-key"), None, "{}", other.status);
    }
}

#[test]
fn private_answers_have_no_tags() {
    let blog = Database::blog();
    let schema = r#"{"entities": {"post": {"fields": ["id", "title"]}}, "policies": {"*": {"post": {"fields": ["title"]}}}}"#;
    let schema = blog.dir.write("schema.json", schema);
    let settings = "[caching]\ncontrol = \"public, max-age=5\"\ntags = \"cache-tag\"\n";
    let server = serve(&blog, &format!("schema = \"{schema}\"\n{settings}"));
    let reply = server.get("/post/1", POST);
    assert_eq!((control(&reply), reply.header("cache-tag")), ("private, max-age=5", None));
}

#[test]
fn writes_do_not_wait_for_purges() {
    let blog = Database::blog();
    let schema = r#"{"entities": {"post": {"fields": ["id", "title"], "writable": ["title"]}}, "joins": {}}"#;
    let schema = blog.dir.write("schema.json", schema);
    // It accepts connections and never answers.
    let cache = TcpListener::bind("127.0.0.1:0").unwrap();
    let purge = format!("[caching.purge]\nurls = [\"http://{}/purge\"]\n", cache.local_addr().unwrap());
    let caching =
        "caching.control = \"public, max-age=5\"\nmutations.enabled = true\nevents.enabled = false\n";
    let server = serve(&blog, &format!("schema = \"{schema}\"\n{caching}{purge}"));
    let metric = |name: &str| {
        let text = server.send(&Request::new("GET", "/metrics")).text();
        let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).expect("the metric")
    };
    wait_until("the first purge is under way", || metric("mesh_purge_lag_seconds") > 0.0);
    let body = serde_json::json!({"title": "Rust at noon"}).to_string();
    let write = Request::new("PUT", "/mesh/post/1").query(POST).header("Content-Type", "application/json");
    let written = server.send(&write.body(&body));
    assert_eq!((written.status, written.text().as_str()), (200, r#"{"title":"Rust at noon"}"#));
    assert_eq!(metric("mesh_purges_total"), 0.0);
}
