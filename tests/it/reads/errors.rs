//! Every invalid query is refused with a message that names what is wrong.

mod controls;
mod cursors;
mod limits;

use mesh_tests::{Database, Request, Server};
use serde_json::json;

use crate::support::refusals::{Case, check, shape_faults};

const TRANSPORT: &str = "TransportError";
const VALIDATION: &str = "ValidationError";

/// An invalid query at `{base}/:entity`. The entity is the first segment of the path.
fn read(path: &str, query: &str) -> Case {
    Case::new(format!("{path} {query:.120}"), Request::get(&format!("/mesh{path}"), query), 400, VALIDATION)
}

/// An invalid query in the body of a POST, where only the limits on queries apply.
fn post(name: &str, query: &str) -> Case {
    let body = json!({ "query": query }).to_string();
    Case::new(name, Request::post("/mesh", &body), 400, VALIDATION)
}

fn ql(path: &str, query: &str) -> Case {
    let request = Request::get(&format!("/mesh{path}"), query).header("X-Mesh-Format", "ql");
    Case::new(format!("ql {query:?}"), request, 400, VALIDATION)
}

/// A collection of posts with a control.
fn posts_with(control: &str) -> String {
    format!(r#"{{"post":{{"$select":{{"id":true}},{control}}}}}"#)
}

fn filtered(filter: &str) -> Case {
    read("/post", &posts_with(&format!(r#""$where":{filter}"#)))
}

#[test]
fn an_unknown_name_is_refused_with_its_path_and_a_suggestion() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            // SPEC §2.1: an unknown entity is not an unknown path.
            read("/nosuch", r#"{"nosuch":{"$select":{"id":true}}}"#).says("nosuch"),
            read("/nosuch/1", r#"{"nosuch":{"$select":{"id":true}}}"#).says("nosuch"),
            read("/pots", r#"{"pots":{"$select":{"id":true}}}"#).says("pots").says("'post'"),
            // SPEC §3.4.
            read("/user", r#"{"user":{"$select":{"secret":true}}}"#)
                .says("Field 'secret' not found on entity 'user'")
                .path("user"),
            read("/user", r#"{"user":{"$select":{"nmae":true}}}"#).says("'nmae'").says("'name'"),
            read(
                "/post",
                r#"{"post":{"$select":{"comments":{"$select":{"user":{"$select":{"nam":true}}}}}}}"#,
            )
            .path("post.comments.user")
            .says("Field 'nam' not found on entity 'user'")
            .says("'name'"),
            read("/post", r#"{"post":{"$select":{"coments":{"$select":{"id":true}}}}}"#)
                .path("post")
                .says("coments")
                .says("'comments'"),
            read("/post", &posts_with(r#""$where":{"field":"titel","op":"eq","value":"x"}"#))
                .says("titel")
                .says("'title'"),
            read("/post", &posts_with(r#""$orderBy":[{"field":"titel","direction":"asc"}]"#))
                .says("titel")
                .says("'title'"),
            read("/post", &posts_with(r#""$distinct":["titel"]"#)).says("titel"),
            ql("/user", "{ user secret }").says("Field 'secret' not found on entity 'user'").path("user"),
            ql("/post", "{ post coments { id } }").says("coments").says("'comments'"),
            // SPEC §2.8.
            read("/user", r#"{"post":{"$select":{"id":true}}}"#).says("post").says("user"),
            read("/user/1", r#"{"post":{"$select":{"id":true}}}"#).says("post").says("user"),
        ],
    );
}

#[test]
fn a_record_without_an_id_field_is_not_read_by_id() {
    let server = Server::with_database(&Database::new("CREATE TABLE notes (text TEXT);"));
    check(&server, &[read("/note/1", r#"{"note":{"$select":{"text":true}}}"#).says("note")]);
}

#[test]
fn a_query_of_another_shape_is_refused() {
    let server = Server::with_database(&Database::blog());
    let cases = [
        "[]",
        "\"post\"",
        "null",
        "{}",
        r#"{"post":null}"#,
        r#"{"post":true}"#,
        r#"{"post":[]}"#,
        r#"{"post":{}}"#,
        r#"{"post":{"title":true}}"#,
        r#"{"post":{"$select":{}}}"#,
        r#"{"post":{"$select":[]}}"#,
        r#"{"post":{"$select":null}}"#,
        r#"{"post":{"$select":{"title":false}}}"#,
        r#"{"post":{"$select":{"title":null}}}"#,
        r#"{"post":{"$select":{"title":1}}}"#,
        r#"{"post":{"$select":{"title":"true"}}}"#,
        r#"{"post":{"$select":{"title":{"$select":{"id":true}}}}}"#,
        r#"{"post":{"$select":{"author":true}}}"#,
        r#"{"post":{"$select":{"comments":true}}}"#,
        r#"{"post":{"$select":{"author":{}}}}"#,
        r#"{"post":{"$select":{"author":{"$select":{}}}}}"#,
        r#"{"post":{"$select":{"id":true},"limit":3}}"#,
        r#"{"post":{"$select":{"id":true},"$limit":3}}"#,
        r#"{"post":{"$select":{"id":true}},"user":{"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true}},"$page":{"first":1}}"#,
        r#"{"post":{"$select":{"id":true}},"contentHash":"00"}"#,
        // Repeated keys (SPEC §3.2).
        r#"{"post":{"$select":{"id":true,"id":true}}}"#,
        r#"{"post":{"$select":{"id":true}},"post":{"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true},"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true},"$page":{"first":1,"first":2}}}"#,
        r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"eq","op":"ne","value":1}}}"#,
        r#"{"post":{"$select":{"id":true},"$aggregate":{"n":{"fn":"count"},"n":{"fn":"count"}}}}"#,
    ];
    let mut cases: Vec<Case> = cases.iter().map(|query| read("/post", query)).collect();
    cases.push(read("/post", r#"{"post":{"$selct":{"id":true}}}"#).says("$selct").says("$select"));
    cases.push(read("/post", r#"{"post":{"$select":{"id":true},"$were":{}}}"#).says("$were").says("$where"));
    check(&server, &cases);
}

#[test]
fn a_syntax_error_names_its_line_and_column() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            read("/post", "{").somewhere(),
            read("/post", r#"{"post":{"$select":{"id":true}}} x"#).at(1, 34),
            read("/post", "{\n  \"post\": oops}").at(2, 11),
            read("/post", "{\"post\":\n{\"$select\": {\"id\": true,}}}").somewhere(),
            read("/post", "{'post': 1}").at(1, 2),
            read("/post", &"[".repeat(10_000)),
            read("/post", &r#"{"a":"#.repeat(4_000)),
            ql("/post", "{ post id ; }").at(1, 11),
            ql("/post", "{\n post {\n  id $ } }").at(3, 6),
            ql("/post", "{ post id } x").at(1, 13),
            ql("/post", "{ post id").at(1, 10),
            ql("/post", "post id").at(1, 1),
            ql("/post", "{ post { } }").somewhere(),
            ql("/post", "{ post }").somewhere(),
            ql("/post", "{ }").somewhere(),
            ql("/post", "{ post author { } }").somewhere(),
            ql("/post", "{ post 1d }").at(1, 8),
            ql("/post", "{ post idé }").at(1, 10),
            ql("/post", "{ post\u{a0}id }").at(1, 7),
            ql("/post", "{ post # why\n id }").at(1, 8),
            ql("/post", "{ post author { id } author { id } }").says("author"),
            ql("/post", &"{ ".repeat(10_000)),
            ql("/post", r#"{"post":{"$select":{"id":true}}}"#).at(1, 2),
        ],
    );
}

fn leaf() -> &'static str {
    r#"{"field":"id","op":"eq","value":1}"#
}

#[test]
fn errors_of_resolvers_do_not_reveal_the_storage() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    assert_eq!(server.get("/comment", r#"{"comment":{"$select":{"id":true}}}"#).status, 200);
    blog.connect().execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE comments;").unwrap();
    for (path, query) in [
        ("/comment", r#"{"comment":{"$select":{"text":true}}}"#),
        ("/comment/1", r#"{"comment":{"$select":{"text":true}}}"#),
        ("/post", r#"{"post":{"$select":{"comments":{"$select":{"text":true}}}}}"#),
    ] {
        let reply = server.get(path, query);
        let text = reply.text();
        assert_eq!((reply.status, &reply.json()["error"]), (500, &json!("ResolverError")), "{path}: {text}");
        assert_eq!(shape_faults(&reply), Vec::<String>::new(), "{text}");
        let lower = text.to_lowercase();
        for word in ["select", "no such table", "comments", "data.db", "sqlite", "rusqlite"] {
            assert!(!lower.contains(word), "{path} shows {word:?}: {text}");
        }
    }
    assert_eq!(server.get("/post/1", r#"{"post":{"$select":{"id":true}}}"#).text(), r#"{"id":1}"#);
}

#[test]
fn transport_errors_precede_query_errors() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            Case::new("unknown entity, no query", Request::new("GET", "/mesh/nosuch"), 400, TRANSPORT),
            Case::new(
                "unknown entity, bad format",
                Request::get("/mesh/nosuch", "{ nosuch id }").header("X-Mesh-Format", "xml"),
                400,
                TRANSPORT,
            ),
        ],
    );
}
