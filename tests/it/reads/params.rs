//! Parameters: values that travel beside a query. `SPEC §19`

use mesh_tests::{Database, Request, Response, Server, encode};
use serde_json::{Value, json};

use crate::support::sessions::why;

fn get(server: &Server, query: &str, params: &Value) -> Response {
    server.send(&Request::get("/mesh/post", query).header("X-Mesh-Params", encode(&params.to_string())))
}

fn items(reply: &Response) -> Value {
    let body = reply.json();
    assert_eq!(reply.status, 200, "{body}");
    body["items"].clone()
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
