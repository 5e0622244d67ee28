//! Parameters: values that travel beside a query. `SPEC §19`

use mesh_tests::{Database, Request, Response, Server, encode};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, Session, why};

const AFTER: &str = r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"gt","value":{"$param":"least"}},"$page":{"first":{"$param":"size"},"after":{"$param":"cursor"}}}}"#;
const BY_LIKES: &str =
    r#"{"post":{"$select":{"id":true},"$where":{"field":"likes","op":"in","value":{"$param":"likes"}}}}"#;
const BY_TITLE: &str = r#"{"post":{"$select":{"title":true},"$where":{"field":"title","op":"like","value":{"$param":"title"}},"$orderBy":[{"field":"id","direction":"asc"}]}}"#;

fn with(path: &str, query: &str, params: &Value) -> Request {
    Request::get(path, query).header("X-Mesh-Params", encode(&params.to_string()))
}

fn get(server: &Server, query: &str, params: &Value) -> Response {
    server.send(&with("/mesh/post", query, params))
}

fn items(reply: &Response) -> Value {
    let body = reply.json();
    assert_eq!(reply.status, 200, "{body}");
    body["items"].clone()
}

#[test]
fn values_take_the_places_of_literals() {
    let server = Server::with_database(&Database::blog());
    let titles = |pattern: &str| items(&get(&server, BY_TITLE, &json!({"title": pattern})));
    assert_eq!(titles("Rust%"), json!([{"title": "Rust at dawn"}]));
    assert_eq!(
        titles("%a%"),
        json!([{"title": "Rust at dawn"}, {"title": "Slow bread"}, {"title": "A map"}])
    );
    assert_eq!(titles("Slow%"), json!([{"title": "Slow bread"}]));
    let ids = |likes: Value| items(&get(&server, BY_LIKES, &json!({"likes": likes})));
    assert_eq!(ids(json!([5])), json!([{"id": 1}]));
    assert_eq!(ids(json!([7, 5, 5, 100])), json!([{"id": 1}, {"id": 2}, {"id": 4}]));
    assert_eq!(ids(json!([])), json!([]));
    let not_in = BY_LIKES.replace("\"in\"", "\"nin\"");
    assert_eq!(items(&get(&server, &not_in, &json!({"likes": []}))).as_array().map(Vec::len), Some(4));
    // Parameters in the body, with a query id, and in a read of one record.
    let body = json!({"query": BY_LIKES, "params": {"likes": [7]}}).to_string();
    assert_eq!(items(&server.send(&Request::post("/mesh", &body))), json!([{"id": 2}, {"id": 4}]));
    let registered = server.send(&Request::post("/mesh/queries", &json!({"query": BY_LIKES}).to_string()));
    let id = registered.json()["id"].as_str().expect("an id").to_owned();
    let by_id = Request::new("GET", "/mesh/post")
        .header("X-Mesh-Query-Id", id)
        .header("X-Mesh-Params", encode(r#"{"likes":[5]}"#));
    assert_eq!(items(&server.send(&by_id)), json!([{"id": 1}]));
    let record =
        r#"{"post":{"$select":{"comments":{"$select":{"text":true},"$page":{"last":{"$param":"n"}}}}}}"#;
    let one = |n: u32| server.send(&with("/mesh/post/1", record, &json!({"n": n}))).text().to_owned();
    assert_eq!(one(1), r#"{"comments":[{"text":"third"}]}"#);
    assert_eq!(one(2), r#"{"comments":[{"text":"second"},{"text":"third"}]}"#);
}

#[test]
fn pages_are_walked_by_parameters() {
    let server = Server::with_database(&Database::blog());
    let page = |cursor: &Value, size: u32| {
        let reply = get(&server, AFTER, &json!({"least": 0, "size": size, "cursor": cursor}));
        (items(&reply), reply.json()["pageInfo"]["endCursor"].clone(), reply)
    };
    let (first, cursor, _) = page(&Value::Null, 1);
    assert_eq!(first, json!([{"id": 1}]));
    let (second, _, _) = page(&cursor, 2);
    assert_eq!(second, json!([{"id": 2}, {"id": 3}]));
    // Other values of the condition share the cursor's scope.
    let reply = get(&server, AFTER, &json!({"least": 2, "size": 9, "cursor": cursor}));
    assert_eq!(items(&reply), json!([{"id": 3}, {"id": 4}]));
    let other = AFTER.replace("\"gt\"", "\"gte\"");
    let refused = get(&server, &other, &json!({"least": 2, "size": 9, "cursor": cursor}));
    assert_eq!(why(&refused), (400, "CURSOR_MISMATCH".to_owned()));
    assert!(refused.text().contains("'cursor'"), "{}", refused.text());
}

#[test]
fn the_cursor_of_a_relation_is_null() {
    let server = Server::with_database(&Database::blog());
    for page in [r#""first":1,"after""#, r#""last":1,"before""#] {
        let query = format!(
            r#"{{"post":{{"$select":{{"comments":{{"$select":{{"id":true}},"$page":{{{page}:{{"$param":"c"}}}}}}}},"$page":{{"first":1}}}}}}"#
        );
        let literal = server.get("/post", &query.replace(r#"{"$param":"c"}"#, "null"));
        for _ in 0..2 {
            assert_eq!(items(&get(&server, &query, &json!({"c": null}))), items(&literal));
            for (params, words) in [(json!({"c": "abc"}), "'c' is wrong"), (json!({}), "'c' has no value")] {
                let refused = get(&server, &query, &params);
                assert_eq!(why(&refused), (400, "ValidationError".to_owned()));
                assert!(refused.text().contains(words), "{}", refused.text());
            }
        }
    }
    let odd = get(&server, BY_LIKES, &json!({"likes": [5], "a\n\u{202e}": 1}));
    assert!(odd.text().contains(r"no parameter 'a\\n\\u{202e}'"), "{}", odd.text());
}

#[test]
fn values_are_refused_as_the_literals_would_be() {
    let server = Server::with_database(&Database::blog());
    let all = json!({"least": 1, "size": 1, "cursor": null});
    let changed = |name: &str, value: Value| {
        let mut params = all.clone();
        params[name] = value;
        params
    };
    let mut missing = all.clone();
    missing.as_object_mut().unwrap().remove("least");
    for (query, params, words) in [
        (AFTER, missing, "'least' has no value"),
        (AFTER, changed("more", json!(1)), "no parameter 'more'"),
        (AFTER, changed("least", json!("x")), "'least' is wrong: 'id' takes a 64-bit integer"),
        (AFTER, changed("least", json!(1.5)), "'least'"),
        (AFTER, changed("least", json!(null)), "'least'"),
        (AFTER, changed("least", json!([1])), "'least'"),
        (AFTER, changed("least", json!({"a": 1})), "'least'"),
        (AFTER, changed("size", json!(0)), "'size'"),
        (AFTER, changed("size", json!(201)), "'size'"),
        (AFTER, changed("size", json!(1.5)), "'size'"),
        (AFTER, changed("size", json!("1")), "'size'"),
        (AFTER, changed("size", json!(null)), "'size'"),
        (AFTER, changed("cursor", json!(1)), "'cursor'"),
        (BY_LIKES, json!({"likes": 5}), "'likes'"),
        (BY_LIKES, json!({"likes": [5, "x"]}), "'likes'"),
        (BY_LIKES, json!({"likes": [5, null]}), "'likes'"),
        (BY_LIKES, json!({"likes": vec![1; 201]}), "'likes'"),
        (BY_TITLE, json!({"title": 1}), "'title'"),
        (BY_TITLE, json!({"title": "a".repeat(5_000)}), "'title'"),
    ] {
        // The second round uses the cached plan.
        for _ in 0..2 {
            let reply = get(&server, query, &params);
            let body = reply.json();
            assert_eq!((reply.status, &body["error"]), (400, &json!("ValidationError")), "{params}: {body}");
            let message = body["message"].as_str().unwrap_or_default();
            assert!(message.contains(words), "{params}: {message}");
        }
        let _ = get(&server, query, &all);
    }
    let long = json!({"query": BY_TITLE, "params": {"title": "a".repeat(70_000)}}).to_string();
    let reply = server.send(&Request::post("/mesh", &long));
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("query_bytes"), "{}", reply.text());
}

#[test]
fn the_header_is_base64_of_an_object() {
    let server = Server::with_database(&Database::blog());
    let text = |text: &str| encode(text);
    for value in ["!".to_owned(), text("[]"), text("1"), text("{"), text(r#"{"a":1,"a":1}"#), text("")] {
        let request = Request::get("/mesh/post", BY_LIKES).header("X-Mesh-Params", value.as_str());
        assert_eq!(why(&server.send(&request)), (400, "TransportError".to_owned()), "{value}");
    }
    let twice = with("/mesh/post", BY_LIKES, &json!({"likes": [5]})).header("X-Mesh-Params", text("{}"));
    assert_eq!(why(&server.send(&twice)), (400, "TransportError".to_owned()));
    let posted = Request::post("/mesh", &json!({"query": BY_LIKES, "params": [1]}).to_string());
    assert_eq!(why(&server.send(&posted)), (400, "TransportError".to_owned()));
    let beside = Request::post("/mesh", &json!({"query": BY_LIKES}).to_string())
        .header("X-Mesh-Params", text(r#"{"likes":[5]}"#));
    assert_eq!(why(&server.send(&beside)), (400, "TransportError".to_owned()));
    let url = Request::get("/mesh/post?x-mesh-params=1", BY_LIKES);
    assert_eq!(why(&server.send(&url)), (400, "TransportError".to_owned()));
    let reply = get(&server, BY_LIKES, &json!({"likes": [5]}));
    assert!(reply.header("vary").is_some_and(|vary| vary.contains("X-Mesh-Params")), "{reply:?}");
}

#[test]
fn tags_and_cached_responses_depend_on_the_values() {
    let server = Server::with_database(&Database::blog());
    let read = |likes: u32| get(&server, BY_LIKES, &json!({"likes": [likes]}));
    for _ in 0..3 {
        assert_eq!(items(&read(5)), json!([{"id": 1}]));
        assert_eq!(items(&read(7)), json!([{"id": 2}, {"id": 4}]));
    }
    let tag = |reply: &Response| reply.header("etag").expect("a tag").to_owned();
    let first = tag(&read(5));
    assert_ne!(first, tag(&read(7)));
    let again = |likes: u32| {
        let request = with("/mesh/post", BY_LIKES, &json!({"likes": [likes]}));
        server.send(&request.header("If-None-Match", &first)).status
    };
    assert_eq!((again(5), again(7)), (304, 200));
}

#[test]
fn signatures_cover_the_values() {
    let deployment = Deployment::new("");
    let server = deployment.start();
    let session = Session::begin(&server);
    let query =
        r#"{"post":{"$select":{"title":true},"$where":{"field":"id","op":"eq","value":{"$param":"id"}}}}"#;
    let request = || with("/mesh/post", query, &json!({"id": 2}));
    let message = format!("{}\n{}", encode(query), encode(r#"{"id":2}"#));
    assert_eq!(items(&server.send(&session.sign(request(), &message))), json!([{"title": "Slow bread"}]));
    assert_eq!(items(&server.send(&session.bind(request(), &message))), json!([{"title": "Slow bread"}]));
    let refused = (403, "SIGNATURE_INVALID".to_owned());
    assert_eq!(why(&server.send(&session.sign(request(), &encode(query)))), refused);
    let other = with("/mesh/post", query, &json!({"id": 1}));
    assert_eq!(why(&server.send(&session.sign(other, &message))), refused);
    let posted = session.post(&server, "", &json!({"query": query, "params": {"id": 3}}));
    assert_eq!(items(&posted), json!([{"title": "A map"}]));
}

#[test]
fn scalars_in_json_are_compared_in_the_type_of_the_value() {
    let server = Server::with_database(&Database::new(
        "CREATE TABLE posts (id INTEGER PRIMARY KEY, data JSON);
        INSERT INTO posts VALUES (1, '{\"v\":1}'), (2, '{\"v\":\"1\"}'), (3, '{\"v\":true}'), (4, '{\"v\":1.5}'), (5, '{}');",
    ));
    let query = |op: &str, value: &Value| {
        let place = json!({"field": "data", "at": "/v", "op": op, "value": value});
        json!({"post": {"$select": {"id": true}, "$where": place}}).to_string()
    };
    let values = [
        json!(1),
        json!("1"),
        json!(true),
        json!(1.5),
        json!("%"),
        json!([1, 1.5]),
        json!(["1", "x"]),
        json!([true]),
    ];
    let others = [json!([1, "1"]), json!(null), json!({"a": 1}), json!([])];
    for op in ["eq", "ne", "gte", "in", "nin", "like"] {
        // All of them share the text of the query.
        for value in values.iter().chain(&others) {
            let (literal, param) = (query(op, value), query(op, &json!({"$param": "v"})));
            let expected = server.get("/post", &literal);
            let found = get(&server, &param, &json!({"v": value}));
            assert_eq!(found.status, expected.status, "{op} {value}: {}", found.text());
            assert_eq!(found.json()["items"], expected.json()["items"], "{op} {value}");
            assert!(found.status == 200 || found.text().contains("'v'"), "{op} {value}: {}", found.text());
        }
    }
    // A list with a parameter as one element, and a pointer, which cannot be a parameter.
    let mixed = query("in", &json!([1, {"$param": "v"}]));
    assert_eq!(items(&get(&server, &mixed, &json!({"v": 1.5}))), json!([{"id": 1}, {"id": 4}]));
    assert!(get(&server, &mixed, &json!({"v": "1"})).text().contains("'v'"));
    let pointer = mixed.replace("\"/v\"", r#"{"$param":"v"}"#);
    assert_eq!(why(&get(&server, &pointer, &json!({"v": "/v"}))), (400, "ValidationError".to_owned()));
}

#[test]
fn defaults_of_a_registered_query_shape_the_reply_of_a_write() {
    let blog = Database::blog();
    let schema = blog.dir.write(
        "schema.json",
        &json!({
            "entities": {
                "post": {"fields": ["id", "title"], "writable": ["title"]},
                "comment": {"fields": ["id", "text"]}
            },
            "joins": {"post.comments": {"entity": "comment", "type": "many", "on": "comments.post_id = posts.id"}}
        })
        .to_string(),
    );
    let server = Server::start(&["--database", &blog.url(), "--schema", &schema, "--mutations"]);
    let query = r#"{"post":{"$select":{"title":true,"comments":{"$select":{"text":true},"$page":{"last":{"$param":"n"}}}}}}"#;
    let declared = json!({"query": query, "params": {"n": {"type": "integer", "default": 1}}}).to_string();
    let id =
        server.send(&Request::post("/mesh/queries", &declared)).json()["id"].as_str().unwrap().to_owned();
    let put = |header: &str, value: &str| {
        let request = Request::new("PUT", "/mesh/post/1").header(header, value);
        request.header("Content-Type", "application/json").body(r#"{"title":"New"}"#)
    };
    let reply = server.send(&put("X-Mesh-Query-Id", &id));
    assert_eq!(reply.text(), r#"{"title":"New","comments":[{"text":"third"}]}"#);
    // Nothing is written if a value is missing, nor if there are values, because the signature of a write does not cover them.
    let refused = server.send(&put("X-Mesh-Query", &encode(query)));
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("'n' has no value"), "{}", refused.text());
    let beside = put("X-Mesh-Query-Id", &id).header("X-Mesh-Params", encode(r#"{"n":2}"#));
    assert_eq!(why(&server.send(&beside)), (400, "TransportError".to_owned()));
}
