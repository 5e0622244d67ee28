//! Writes of relations: children, links and to-one relations.

use mesh_tests::{Request, Response};
use serde_json::json;

use super::Shop;

#[test]
fn children_are_created_and_deleted_under_their_parent() {
    let shop = Shop::open();
    let reply = shop.write("POST", "/user/2/posts", r#"{"title": "Child"}"#);
    assert_eq!((reply.status, reply.header("location")), (201, Some("/mesh/post/4")));
    assert_eq!(reply.json()["authorId"], 2);
    shop.refused(
        &shop.write("POST", "/user/9/posts", r#"{"title": "Orphan"}"#),
        404,
        "NotFound",
        "There is no 'user' with the id '9'",
    );
    shop.refused(
        &shop.write("POST", "/user/2/posts", r#"{"title": "x", "authorId": 1}"#),
        400,
        "ValidationError",
        "'authorId' is set by the relation 'posts' of the path; leave it out",
    );
    // The child of another parent is not found under this one.
    shop.refused(&shop.delete("/user/1/posts/4"), 404, "NotFound", "There is no 'post' with the id '4'");
    assert_eq!(shop.delete("/user/2/posts/4").status, 204);
    assert_eq!(shop.cell("SELECT count(*) FROM posts").as_deref(), Some("3"));
}

#[test]
fn many_to_many_links_are_created_once_and_removed() {
    let shop = Shop::open();
    let pairs = || shop.cell("SELECT group_concat(post_id || tag, ',') FROM post_tags");
    for id in [r#"{"entityId": "a/b"}"#, r#"{"entityId": "a/b"}"#, r#"{"entityId": "rust"}"#] {
        let reply = shop.write("POST", "/post/1/tags", id);
        assert_eq!((reply.status, reply.text().as_str(), reply.header("location")), (204, "", None));
    }
    assert_eq!(pairs().as_deref(), Some("1rust,1a/b"));
    let missing = "There is no 'tag' with the id 'none'";
    shop.refused(&shop.write("POST", "/post/1/tags", r#"{"entityId": "none"}"#), 404, "NotFound", missing);
    let missing = "There is no 'post' with the id '9'";
    shop.refused(&shop.write("POST", "/post/9/tags", r#"{"entityId": "rust"}"#), 404, "NotFound", missing);
    assert_eq!(shop.delete("/post/1/tags/a%2Fb").status, 204);
    shop.refused(&shop.delete("/post/1/tags/a%2Fb"), 404, "NotFound", "There is no 'tag' with the id 'a/b'");
    assert_eq!(pairs().as_deref(), Some("1rust"));
    assert_eq!(shop.cell("SELECT count(*) FROM tags").as_deref(), Some("2"), "tags stay");
    // Ids may be numbers.
    assert_eq!(shop.write("PUT", "/post/1/editor", r#"{"entityId": "3"}"#).json()["name"], "Cy");
    assert_eq!(shop.write("PUT", "/post/1/editor", r#"{"entityId": 1}"#).json()["name"], "Ada");
}

#[test]
fn to_one_relations_are_connected_replaced_and_disconnected() {
    let shop = Shop::open();
    let reply = shop.write("PUT", "/post/2/editor", r#"{"entityId": 3}"#);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), r#"{"id":3,"name":"Cy","email":null,"age":null,"active":null}"#);
    assert_eq!(shop.read("/post/2", "{ post editor { name } }"), json!({"editor": {"name": "Cy"}}));
    assert_eq!(shop.delete("/post/2/editor").status, 204);
    assert_eq!(shop.delete("/post/2/editor").status, 204, "ended already");
    assert_eq!(shop.read("/post/2", "{ post editor { name } }"), json!({"editor": null}));
    let missing = "There is no 'user' with the id '9'";
    shop.refused(&shop.write("PUT", "/post/2/editor", r#"{"entityId": 9}"#), 404, "NotFound", missing);
    let missing = "There is no 'post' with the id '9'";
    shop.refused(&shop.delete("/post/9/editor"), 404, "NotFound", missing);
    // A required key cannot be cleared.
    let reply = shop.delete("/post/2/author");
    shop.refused(&reply, 409, "ConflictError", "'authorId' must not be null");
}

#[test]
fn a_foreign_key_on_the_other_side_is_updated() {
    let shop = Shop::open();
    let owners = || shop.cell("SELECT group_concat(coalesce(user_id, '-'), ',') FROM profiles").unwrap();
    let reply = shop.write("PUT", "/user/1/profile", r#"{"entityId": 2}"#);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":2,"bio":"second"}"#));
    assert_eq!(owners(), "-,1");
    assert_eq!(shop.write("PUT", "/user/2/profile", r#"{"entityId": 2}"#).status, 200);
    assert_eq!(owners(), "-,2");
    assert_eq!(shop.delete("/user/2/profile").status, 204);
    assert_eq!(owners(), "-,-");
    // The key of a badge is required, so a badge can move only to a record that has none.
    let reply = shop.write("PUT", "/user/1/badge", r#"{"entityId": 2}"#);
    shop.refused(&reply, 409, "ConflictError", "A required value is missing or null");
    assert_eq!(shop.write("PUT", "/user/3/badge", r#"{"entityId": 2}"#).status, 200);
    assert_eq!(shop.delete("/user/3/badge").status, 409);
    assert_eq!(shop.cell("SELECT user_id FROM badges WHERE id = 2").as_deref(), Some("3"));
}

#[test]
fn methods_must_match_the_kind_of_relation() {
    let shop = Shop::open();
    let refused = |reply: Response, allow: &str| {
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{}", reply.text());
        assert_eq!(reply.json()["error"], "MethodNotAllowed");
    };
    refused(shop.write("POST", "/post/1/author", "{}"), "PUT, DELETE, OPTIONS");
    refused(shop.write("PUT", "/user/1/posts", r#"{"entityId": 1}"#), "POST, OPTIONS");
    refused(shop.delete("/user/1/posts"), "POST, OPTIONS");
    refused(shop.delete("/post/1/author/1"), "PUT, DELETE, OPTIONS");
    let options = |path: &str| {
        let reply = shop.server.send(&Request::new("OPTIONS", &shop.server.path(path)));
        reply.header("allow").unwrap().to_owned()
    };
    assert_eq!(options("/user"), "GET, HEAD, POST, OPTIONS");
    assert_eq!(options("/user/1"), "GET, HEAD, PUT, DELETE, OPTIONS");
    assert_eq!(options("/user/1/posts"), "POST, PUT, DELETE, OPTIONS");
    assert_eq!(options("/user/1/posts/1"), "DELETE, OPTIONS");
}
