//! Paths, methods and ids.

use mesh_tests::{Database, Request, Response, Server};
use serde_json::json;

use super::{FIRST, POST, bad, get, plain};
use crate::support::refusals::{Case, check};

/// Returns the sorted methods of `Allow`.
fn allowed(response: &Response) -> Vec<String> {
    let allow = response.header("allow").unwrap_or_default();
    let mut methods: Vec<String> = allow.split(',').map(|method| method.trim().to_owned()).collect();
    methods.sort();
    methods
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let server = Server::with_database(&Database::blog());
    let missing = |path: &str| Case::new(path, Request::get(path, POST), 404, "NotFound");
    let refused = |method: &str, path: &str| {
        Case::new(format!("{method} {path}"), plain(method, path).query(POST), 405, "MethodNotAllowed")
    };
    check(
        &server,
        &[
            missing("/"),
            missing("/post"),
            missing("/meshed/post"),
            missing("/MESH/post"),
            missing("/other/mesh/post"),
            missing("/mesh/post/1/title/more/still"),
            bad("undecodable entity", get("/po%zzst")),
            bad("undecodable id", get("/post/%")),
            bad("id that is no UTF-8", get("/post/%ff")),
            refused("DELETE", "/post"),
            refused("DELETE", "/post/1"),
            refused("DELETE", ""),
            refused("PATCH", "/post/1"),
            refused("BREW", "/post/1"),
            refused("PUT", "/post"),
            refused("GET", ""),
            refused("PUT", ""),
            // The method is checked before the headers.
            Case::new("DELETE without a query", plain("DELETE", "/post/1"), 405, "MethodNotAllowed"),
        ],
    );

    let methods = [
        ("/post", &["GET", "HEAD", "OPTIONS"][..]),
        ("/post/1", &["GET", "HEAD", "OPTIONS", "PUT"]),
        ("", &["OPTIONS", "POST"]),
    ];
    for (path, expected) in methods {
        let refusal = server.send(&plain("DELETE", path).query(POST));
        assert_eq!(refusal.status, 405, "{path}");
        let options = server.send(&plain("OPTIONS", path));
        assert!(matches!(options.status, 200 | 204), "OPTIONS {path}: {}", options.status);
        for response in [refusal, options] {
            let methods = allowed(&response);
            for method in expected {
                assert!(
                    methods.iter().any(|allowed| allowed == method),
                    "{path} lacks {method}: {methods:?}"
                );
            }
            assert!(!methods.iter().any(|method| method == "DELETE"), "{path}: {methods:?}");
        }
    }
}

#[test]
fn other_spellings_of_a_path_reach_the_same_record() {
    let server = Server::with_database(&Database::blog());
    for path in ["/post/1", "/post/1/", "/post/%31", "/p%6Fst/1", "/post/%31/?a=b"] {
        let reply = server.send(&get(path));
        assert_eq!((reply.status, reply.text().as_str()), (200, FIRST), "{path}");
    }
    let all = server.send(&get("/post"));
    assert_eq!(all.json()["items"].as_array().unwrap().len(), 4);
    assert_eq!(server.send(&get("/post/")).body, all.body);
    let slash = server.send(&Request::post("/mesh/", &json!({"query": POST}).to_string()));
    assert_eq!(slash.body, all.body);
    // Escapes are decoded exactly once.
    assert_eq!(server.send(&get("/post/%2531")).text(), "null");
}

#[test]
fn the_base_path_is_configurable() {
    let blog = Database::blog();
    for (base, under, outside) in [
        ("/", "/post/1", "/mesh/post/1/title/more"),
        ("", "/post/1", "/a/b/c/d/e"),
        ("/api/v1/data", "/api/v1/data/post/1", "/api/v1/post/1"),
    ] {
        let server = Server::start(&["--database", &blog.url(), "--base", base]);
        let reply = server.send(&Request::get(under, POST));
        assert_eq!((reply.status, reply.text().as_str()), (200, FIRST), "base {base:?}");
        assert_eq!(server.send(&Request::get(outside, POST)).status, 404, "base {base:?}, {outside}");
        let root = if base.is_empty() { "/" } else { base };
        let posted = server.send(&Request::post(root, &json!({"query": POST, "id": 1}).to_string()));
        assert_eq!(posted.text(), FIRST, "base {base:?}");
    }
}

#[test]
fn a_record_with_an_impossible_id_is_null() {
    let database = Database::new(
        "CREATE TABLE post (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO post VALUES (1, 'Rust at dawn'), (0, 'zero');
         CREATE TABLE word (id TEXT PRIMARY KEY, n INTEGER);
         INSERT INTO word VALUES ('a b/c', 1), ('007', 2), ('ä', 3), ('null', 4);",
    );
    let server = Server::with_database(&database);
    for id in [
        "2",
        "-1",
        "abc",
        "1abc",
        "1.5",
        "99999999999999999999",
        "%20",
        "1%27%20OR%201=1",
        "null",
        "%00",
        "01x",
        "1e0x",
    ] {
        let reply = server.send(&get(&format!("/post/{id}")));
        assert_eq!((reply.status, reply.text().as_str()), (200, "null"), "{id}");
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    }
    for (id, n) in [("a%20b%2Fc", 1), ("007", 2), ("%C3%A4", 3), ("null", 4)] {
        let reply = server.get(&format!("/word/{id}"), r#"{"word":{"$select":{"n":true}}}"#);
        assert_eq!(reply.text(), format!(r#"{{"n":{n}}}"#), "{id}");
    }
    assert_eq!(server.get("/word/7", r#"{"word":{"$select":{"n":true}}}"#).text(), "null");
}

#[test]
fn put_and_head_read_like_get() {
    let server = Server::with_database(&Database::blog());
    let put = plain("PUT", "/post/1").query(POST);
    assert_eq!(server.send(&put).text(), FIRST);
    assert_eq!(
        server.send(&put.clone().header("Content-Type", "text/plain").body("ignored {")).text(),
        FIRST
    );
    assert_eq!(server.send(&plain("PUT", "/post/99").query(POST)).text(), "null");

    for path in ["/post", "/post/1", "/post/99"] {
        let full = server.send(&get(path));
        let mut connection = server.connect();
        let head = connection.send(&plain("HEAD", path).query(POST));
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-type", "etag", "vary", "cache-control"] {
            assert_eq!(head.header(name), full.header(name), "{path}: {name}");
        }
        if let Some(length) = head.header("content-length") {
            assert_eq!(length, full.body.len().to_string());
        }
        // No bytes of a body follow the head.
        assert_eq!(connection.send(&get("/post/1")).text(), FIRST);
    }
    let mut connection = server.connect();
    let head = connection.send(&plain("HEAD", "/post"));
    assert_eq!((head.status, head.body.len()), (400, 0));
    assert_eq!(connection.send(&get("/post/1")).text(), FIRST);
}
