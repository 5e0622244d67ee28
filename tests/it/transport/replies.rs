//! Request ids and revalidation.

use mesh_tests::{Database, Request, Server};

use super::{FIRST, POST, get, plain};
use crate::support::refusals::shape_faults;

#[test]
fn every_reply_has_a_request_id() {
    let server = Server::with_database(&Database::blog());
    let longest = "x".repeat(128);
    for id in ["abc-123", "!~", longest.as_str()] {
        let fine = server.send(&get("/post/1").header("X-Request-Id", id));
        assert_eq!(fine.header("x-request-id"), Some(id));
        for request in [
            plain("GET", "/post"),
            plain("DELETE", "/post"),
            plain("GET", "/a/b/c/d/e"),
            Request::post("/mesh", "x"),
        ] {
            let refusal = server.send(&request.header("X-Request-Id", id));
            assert_eq!(refusal.header("x-request-id"), Some(id));
            assert_eq!(refusal.json()["requestId"], id);
        }
    }
    let mut seen = vec![String::new()];
    let odd: [&[u8]; 5] = [b"", b"a b", "x".repeat(129).leak().as_bytes(), "ä".as_bytes(), b"a\tb"];
    for id in odd {
        let reply = server.send(&get("/post/1").header("X-Request-Id", id));
        let fresh = reply.header("x-request-id").expect("a fresh id").to_owned();
        assert!(!seen.contains(&fresh) && fresh.as_bytes() != id, "{fresh}");
        seen.push(fresh);
        let reply = server.send(&plain("GET", "/post").header("X-Request-Id", id));
        assert_eq!(shape_faults(&reply), Vec::<String>::new());
    }
    for request in [get("/post"), plain("OPTIONS", "/post"), plain("HEAD", "/post").query(POST)] {
        assert!(server.send(&request).header("x-request-id").is_some());
    }
}

#[test]
fn reads_are_revalidated_by_their_tag() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    for path in ["/post", "/post/1", "/post/99"] {
        let reply = server.send(&get(path));
        let tag = reply.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 8, "a strong tag: {tag}");
        let vary = reply.header("vary").unwrap_or_default().to_lowercase();
        let vary: Vec<&str> = vary.split(',').map(str::trim).collect();
        for name in
            ["x-mesh-query", "x-mesh-query-id", "x-mesh-format", "x-mesh-token", "accept-encoding", "origin"]
        {
            assert!(vary.contains(&name), "{path}: Vary lacks {name}: {vary:?}");
        }
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(server.send(&get(path)).header("etag"), Some(tag.as_str()), "the tag is stable");
        for held in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let mut connection = server.connect();
            let unchanged = connection.send(&get(path).header("If-None-Match", &held));
            assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{path}, {held}");
            assert_eq!(unchanged.header("etag"), Some(tag.as_str()));
            assert!(unchanged.header("vary").is_some() && unchanged.header("x-request-id").is_some());
            assert_eq!(connection.send(&get("/post/1")).text(), FIRST, "the connection stays usable");
        }
        let head = server.send(&plain("HEAD", path).query(POST).header("If-None-Match", &tag));
        assert_eq!(head.status, 304);
        for held in ["\"other\"", "", "nonsense"] {
            assert_eq!(server.send(&get(path).header("If-None-Match", held)).status, 200, "{path}, {held}");
        }
    }
    let before = server.send(&get("/post/1"));
    let tag = before.header("etag").unwrap();
    blog.connect().execute("UPDATE posts SET likes = 99 WHERE id = 1", []).unwrap();
    assert_eq!(
        server.send(&get("/post/1").header("If-None-Match", tag)).status,
        304,
        "nothing selected has changed"
    );
    blog.connect().execute("UPDATE posts SET title = 'Else' WHERE id = 1", []).unwrap();
    let after = server.send(&get("/post/1").header("If-None-Match", tag));
    assert_eq!((after.status, after.text().as_str()), (200, r#"{"id":1,"title":"Else"}"#));
    assert_ne!(after.header("etag"), Some(tag));
}
