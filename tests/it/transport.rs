//! Routes, headers, bodies, sizes and caching follow the wire contract.

use mesh_tests::{Connection, Database, Request, Response, Server, encode};
use serde_json::{Value, json};

use crate::table::{Case, check, report, shape_faults};

const TRANSPORT: &str = "TransportError";
const POST: &str = r#"{"post":{"$select":{"id":true,"title":true}}}"#;
const FIRST: &str = r#"{"id":1,"title":"Rust at dawn"}"#;

fn bad(name: &str, request: Request) -> Case {
    Case::new(name, request, 400, TRANSPORT)
}

fn plain(method: &str, path: &str) -> Request {
    Request::new(method, &format!("/mesh{path}"))
}

fn get(path: &str) -> Request {
    Request::get(&format!("/mesh{path}"), POST)
}

/// Returns the sorted methods of `Allow`.
fn allowed(response: &Response) -> Vec<String> {
    let allow = response.header("allow").unwrap_or_default();
    let mut methods: Vec<String> = allow.split(',').map(|method| method.trim().to_owned()).collect();
    methods.sort();
    methods
}

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

/// Sends raw bytes and checks the status of the reply.
fn refused_early(server: &Server, name: &str, bytes: &[u8], status: u16, faults: &mut Vec<String>) {
    let mut connection: Connection = server.connect();
    connection.write(bytes);
    let Some(reply) = connection.read(false) else {
        faults.push(format!("{name}: the connection was closed without a reply, {status} expected"));
        return;
    };
    if reply.status != status {
        faults.push(format!("{name}: {status} expected, got {} {}", reply.status, reply.text()));
    }
    for fault in shape_faults(&reply) {
        faults.push(format!("{name}: {fault}: {} {}", reply.status, reply.text()));
    }
    if reply.status >= 400
        && serde_json::from_slice::<Value>(&reply.body).is_ok_and(|body| body["error"] != TRANSPORT)
    {
        faults.push(format!("{name}: TransportError expected: {}", reply.text()));
    }
}

/// The HTTP parser refuses heads of four times the limit and more than 100 headers, without an error body.
#[test]
fn far_too_large_requests_are_refused_while_they_are_read() {
    let server = Server::with_database(&Database::blog());
    let tiny =
        (0..2000).fold(get("/post"), |request, index| request.header(&format!("X-{index}"), "y".repeat(20)));
    let requests = [
        get("/post").header("X-Padding", "x".repeat(300 * 1024)),
        tiny,
        get(&format!("/post/{}", "1".repeat(200 * 1024))),
    ];
    for request in requests {
        let mut connection = server.connect();
        connection.write(&request.bytes());
        assert_eq!(connection.read(false).map(|reply| reply.status), Some(431));
    }
    assert_eq!(server.send(&Request::get("/mesh/post/1", POST)).status, 200);
}

#[test]
fn too_large_requests_get_an_error_body() {
    let server = Server::with_database(&Database::blog());
    let mut faults = Vec::new();
    let mut refuse =
        |name: &str, request: &[u8], status: u16| refused_early(&server, name, request, status, &mut faults);
    refuse("one header of 33 KiB", &get("/post").header("X-Padding", "x".repeat(33 * 1024)).bytes(), 431);
    let large = format!("{}{POST}", " ".repeat(30_000));
    refuse("a query header over the bound", &Request::get("/mesh/post", &large).bytes(), 431);
    let many =
        (0..80).fold(get("/post"), |request, index| request.header(&format!("X-{index}"), "y".repeat(500)));
    refuse("many headers of 40 KiB in all", &many.bytes(), 431);
    refuse("a long request line", &get(&format!("/post/{}", "1".repeat(33 * 1024))).bytes(), 414);
    refuse("a long parameter", &get(&format!("/post?a={}", "1".repeat(40 * 1024))).bytes(), 414);

    let body = |length: usize| {
        let bare = json!({"query": POST, "id": 1}).to_string();
        format!("{bare}{}", " ".repeat(length - bare.len()))
    };
    refuse("a body over 1 MiB", &Request::post("/mesh", &body(1024 * 1024 + 1)).bytes(), 413);
    refuse("a body of 3 MiB", &Request::post("/mesh", &body(3 * 1024 * 1024)).bytes(), 413);
    let announced =
        plain("POST", "").header("Content-Type", "application/json").header("Content-Length", "1048577");
    refuse("announced, not sent", &announced.bytes(), 413);
    let vast = plain("POST", "")
        .header("Content-Type", "application/json")
        .header("Content-Length", "99999999999999");
    refuse("announced to be vast", &vast.bytes(), 413);
    let mut chunked = plain("POST", "")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked")
        .bytes();
    let all = body(1024 * 1024 + 1);
    chunked.extend_from_slice(format!("{:x}\r\n{all}\r\n0\r\n\r\n", all.len()).as_bytes());
    refuse("chunks over 1 MiB", &chunked, 413);
    report(&faults);

    let within = server.send(&Request::post("/mesh", &body(1024 * 1024)));
    assert_eq!((within.status, within.text().as_str()), (200, FIRST));
    let mut header = get("/post/1");
    let room = 32 * 1024 - header.bytes().len() - 200;
    header = header.header("X-Padding", "x".repeat(room));
    assert_eq!(server.send(&header).text(), FIRST, "a header block within the bound");
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
        assert_eq!(server.send(&get(path)).header("etag"), Some(tag.as_str()), "the same each time");
        for held in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let mut connection = server.connect();
            let unchanged = connection.send(&get(path).header("If-None-Match", &held));
            assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{path}, {held}");
            assert_eq!(unchanged.header("etag"), Some(tag.as_str()));
            assert!(unchanged.header("vary").is_some() && unchanged.header("x-request-id").is_some());
            assert_eq!(connection.send(&get("/post/1")).text(), FIRST, "the connection goes on");
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

#[test]
fn malformed_http_is_refused() {
    let server = Server::with_database(&Database::blog());
    for bytes in [
        &b"\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /mesh/post HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /mesh/post HTTP/1.1\r\nNo colon\r\n\r\n",
        b"POST /mesh HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: x\r\n\r\n",
    ] {
        let mut connection = server.connect();
        connection.write(bytes);
        connection.finish();
        if let Some(reply) = connection.read(false) {
            assert!((400..600).contains(&reply.status), "{}", reply.status);
        }
        assert_eq!(server.send(&get("/post/1")).text(), FIRST);
    }
}
