//! The query of a request is in a header or a JSON body, never in the URL.

use mesh_tests::{Database, Request, Server, encode};
use serde_json::{Value, json};

use super::{FIRST, POST, TRANSPORT, bad, get, plain};
use crate::support::refusals::{Case, check};

#[test]
fn exactly_one_query_header_is_taken() {
    let server = Server::with_database(&Database::blog());
    let encoded = encode(POST);
    let mut cases = Vec::new();
    for (method, path) in [("GET", "/post"), ("GET", "/post/1"), ("PUT", "/post/1")] {
        let name = |what: &str| format!("{method} {path}, {what}");
        let request = || plain(method, path);
        cases.extend([
            bad(&name("none"), request()).says("X-Mesh-Query"),
            bad(&name("both"), request().query(POST).header("X-Mesh-Query-Id", "q_1"))
                .says("X-Mesh-Query-Id"),
            bad(&name("both, one empty"), request().query(POST).header("X-Mesh-Query-Id", "")),
            bad(
                &name("both, the other empty"),
                request().header("X-Mesh-Query", "").header("X-Mesh-Query-Id", "q_1"),
            ),
            bad(&name("empty query"), request().header("X-Mesh-Query", "")).says("X-Mesh-Query"),
            bad(&name("blank query"), request().header("X-Mesh-Query", "  ")),
            bad(&name("empty id"), request().header("X-Mesh-Query-Id", "")).says("X-Mesh-Query-Id"),
            bad(&name("query repeated"), request().query(POST).query(POST)).says("X-Mesh-Query"),
            bad(
                &name("id repeated"),
                request().header("X-Mesh-Query-Id", "q_1").header("X-Mesh-Query-Id", "q_1"),
            ),
            bad(
                &name("blank inside"),
                request().header("X-Mesh-Query", format!("{} {}", &encoded[..8], &encoded[8..])),
            ),
            bad(&name("URL alphabet"), request().header("X-Mesh-Query", "eyJ-_w==")),
            bad(&name("no base64"), request().header("X-Mesh-Query", "{post}")),
            bad(&name("padding inside"), request().header("X-Mesh-Query", format!("ew=={encoded}"))),
            bad(&name("one letter"), request().header("X-Mesh-Query", "e")),
            bad(&name("not ASCII"), request().header("X-Mesh-Query", b"\xff\xfe")),
            bad(&name("not UTF-8"), request().header("X-Mesh-Query", "/////w==")),
            bad(&name("plain JSON"), request().header("X-Mesh-Query", POST)),
            bad(&name("format xml"), request().query(POST).header("X-Mesh-Format", "xml"))
                .says("X-Mesh-Format"),
            bad(&name("format JSON"), request().query(POST).header("X-Mesh-Format", "JSON")),
            bad(&name("format empty"), request().query(POST).header("X-Mesh-Format", "")),
        ]);
    }
    check(&server, &cases);

    let put = plain("PUT", "/post/1").header("Content-Type", "application/json").body(r#"{"title": "x"}"#);
    check(&server, &[bad("a write while writes are off", put).says("mutations.enabled")]);

    // Padding is optional, and bits beyond the last byte are ignored.
    for query in ["{ post id }", "{ post id  }", "{ post id   }"] {
        let unpadded = encode(query).trim_end_matches('=').to_owned();
        let reply = server
            .send(&plain("GET", "/post/1").header("X-Mesh-Query", &unpadded).header("X-Mesh-Format", "ql"));
        assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":1}"#), "{unpadded}");
    }
    assert_eq!(encode("{ post id }"), "eyBwb3N0IGlkIH0=");
    let loose =
        plain("GET", "/post/1").header("X-Mesh-Query", "eyBwb3N0IGlkIH1=").header("X-Mesh-Format", "ql");
    assert_eq!(server.send(&loose).text(), r#"{"id":1}"#);
    let explicit = get("/post/1").header("X-Mesh-Format", "json");
    assert_eq!(server.send(&explicit).text(), FIRST);
}

#[test]
fn parameters_of_the_url_never_carry_the_query() {
    let server = Server::with_database(&Database::blog());
    let mut cases = Vec::new();
    for header in ["X-Mesh-Query", "X-Mesh-Query-Id", "X-Mesh-Format", "X-Mesh-Signature", "X-Mesh-Token"] {
        for name in [header.to_owned(), header.to_lowercase(), header.to_uppercase()] {
            for path in ["/post", "/post/1"] {
                cases.push(bad(&name, get(&format!("{path}?{name}=x"))).says("header"));
            }
        }
    }
    let controls =
        ["$select", "$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"];
    for control in controls {
        let encoded = control.replace('$', "%24");
        for name in [control.to_owned(), control.to_uppercase(), control.to_lowercase(), encoded] {
            cases.push(bad(&name, get(&format!("/post?a=1&{name}=x"))).says("query|body|header"));
        }
    }
    cases.push(bad("without a value", get("/post?$page")));
    cases.push(bad("escaped letters", get("/post?%78-mesh-query=x")));
    let post = Request::post("/mesh?$page=1", &json!({"query": POST}).to_string());
    cases.push(bad("POST", post));
    cases.push(bad("PUT", Request::new("PUT", "/mesh/post/1?x-mesh-query=1").query(POST)));
    check(&server, &cases);

    for parameters in ["?", "?_=17", "?select=1&page=2", "?q=%ff&&=", "?x-mesh=1"] {
        assert_eq!(server.send(&get(&format!("/post/1{parameters}"))).text(), FIRST, "{parameters}");
    }
}

#[test]
fn post_accepts_json_only() {
    let server = Server::with_database(&Database::blog());
    let body = |value: Value| Request::post("/mesh", &value.to_string());
    let text = |text: &str| Request::post("/mesh", text);
    let typed =
        |kind: &str| plain("POST", "").header("Content-Type", kind).body(json!({"query": POST}).to_string());
    let untyped = plain("POST", "").body(json!({"query": POST}).to_string());
    let media =
        |name: &str, request: Request| Case::new(name, request, 415, TRANSPORT).says("application/json");
    check(
        &server,
        &[
            media("no content type", untyped),
            media("text/plain", typed("text/plain")),
            media("a form", typed("application/x-www-form-urlencoded")),
            media("a relative of JSON", typed("application/json-patch+json")),
            media("empty content type", typed("")),
            bad("empty body", text("")),
            bad("no body at all", plain("POST", "").header("Content-Type", "application/json")),
            bad("not JSON", text("{query")),
            bad("more after the JSON", text(r#"{"query":"{}"} x"#)),
            bad(
                "not UTF-8",
                plain("POST", "").header("Content-Type", "application/json").body(b"{\"query\":\"\xff\"}"),
            ),
            bad("an array", text("[]")),
            bad("a string", text("\"{ post id }\"")),
            bad("null", text("null")),
            bad("no query", body(json!({}))).says("query"),
            bad("query is an object", body(json!({"query": {"post": {}}}))).says("query"),
            bad("query is null", body(json!({"query": null}))).says("query"),
            bad("unknown format", body(json!({"query": POST, "format": "xml"}))).says("format"),
            bad("format in capitals", body(json!({"query": POST, "format": "JSON"}))),
            bad("format is a number", body(json!({"query": POST, "format": 1}))),
            bad("id is an object", body(json!({"query": POST, "id": {}}))).says("id"),
            bad("id is a boolean", body(json!({"query": POST, "id": true}))),
            bad("deep body", text(&"[".repeat(100_000))),
            Case::new("a query of base64", body(json!({"query": encode(POST)})), 400, "ValidationError"),
            Case::new("ql read as JSON", body(json!({"query": "{ post id }"})), 400, "ValidationError")
                .somewhere(),
            Case::new("empty query", body(json!({"query": ""})), 400, "ValidationError"),
        ],
    );

    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"] {
        assert_eq!(server.send(&typed(kind)).body, server.send(&get("/post")).body, "{kind}");
    }
    let cases = [
        (json!({"query": POST, "id": 1}), FIRST),
        (json!({"query": POST, "id": "1"}), FIRST),
        (json!({"query": "{ post id title }", "format": "ql", "id": 1}), FIRST),
        (json!({"query": POST, "format": "json", "id": "no such"}), "null"),
        (json!({"query": POST, "id": 99}), "null"),
    ];
    for (value, expected) in cases {
        let reply = server.send(&body(value.clone()));
        assert_eq!((reply.status, reply.text().as_str()), (200, expected), "{value}");
        assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    }
}
