//! Misplaced and malformed controls, and filter values of the wrong type.

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

use super::{VALIDATION, filtered, posts_with, read};
use crate::support::refusals::{Case, check, report};

#[test]
fn a_control_in_the_wrong_place_is_refused() {
    let server = Server::with_database(&Database::blog());
    let controls = [
        r#""$where":{"field":"id","op":"eq","value":1}"#,
        r#""$orderBy":[{"field":"id","direction":"asc"}]"#,
        r#""$page":{"first":1}"#,
        r#""$distinct":["id"]"#,
        r#""$groupBy":["id"]"#,
        r#""$aggregate":{"n":{"fn":"count"}}"#,
        r#""$having":{"field":"id","op":"eq","value":1}"#,
    ];
    let mut cases = Vec::new();
    for control in controls {
        let name = control.split('"').nth(1).unwrap();
        // SPEC §3.6: the root of a point read, and a to-one relation.
        cases.push(read("/post/1", &posts_with(control)).says(name));
        let to_one =
            format!(r#"{{"post":{{"$select":{{"author":{{"$select":{{"id":true}},{control}}}}}}}}}"#);
        cases.push(read("/post", &to_one).says(name).path("post.author"));
    }
    // Controls that to-many relations do not support.
    for control in &controls[3..] {
        let name = control.split('"').nth(1).unwrap();
        let to_many =
            format!(r#"{{"post":{{"$select":{{"comments":{{"$select":{{"id":true}},{control}}}}}}}}}"#);
        cases.push(read("/post", &to_many).says(name).path("post.comments"));
    }
    let id = json!({"query": posts_with(controls[0]), "id": 1}).to_string();
    cases.push(Case::new("POST with id and $where", Request::post("/mesh", &id), 400, VALIDATION));
    check(&server, &cases);
}

#[test]
fn a_malformed_control_is_refused() {
    let server = Server::with_database(&Database::blog());
    let controls = [
        // SPEC §3.8: null as a control.
        r#""$where":null"#,
        r#""$orderBy":null"#,
        r#""$page":null"#,
        r#""$distinct":null"#,
        r#""$groupBy":null"#,
        r#""$aggregate":null"#,
        r#""$having":null"#,
        r#""$distinct":[]"#,
        r#""$groupBy":[]"#,
        r#""$aggregate":{}"#,
        r#""$where":{}"#,
        r#""$where":[]"#,
        r#""$where":{"and":[]}"#,
        r#""$where":{"or":[]}"#,
        r#""$where":{"and":{"field":"id","op":"eq","value":1}}"#,
        r#""$where":{"not":[]}"#,
        r#""$where":{"field":"id","op":"eq"}"#,
        r#""$where":{"field":"id","value":1}"#,
        r#""$where":{"op":"eq","value":1}"#,
        r#""$where":{"field":"id","op":"eq","value":1,"extra":1}"#,
        r#""$where":{"and":[{"field":"id","op":"eq","value":1}],"or":[{"field":"id","op":"eq","value":1}]}"#,
        r#""$where":{"field":"author","op":"eq","value":1}"#,
        r#""$orderBy":{"field":"id","direction":"asc"}"#,
        r#""$orderBy":["id"]"#,
        r#""$orderBy":[{"field":"id"}]"#,
        r#""$orderBy":[{"direction":"asc"}]"#,
        r#""$orderBy":[{"field":"id","direction":"up"}]"#,
        r#""$orderBy":[{"field":"id","direction":"ASC"}]"#,
        r#""$orderBy":[{"field":"id","direction":"asc","nulls":"middle"}]"#,
        r#""$orderBy":[{"aggregate":"n","direction":"asc"}]"#,
        r#""$orderBy":[{"field":"id","direction":"asc"},{"field":"id","direction":"desc"}]"#,
        r#""$page":[]"#,
        r#""$page":{"first":0}"#,
        r#""$page":{"first":-1}"#,
        r#""$page":{"first":1.5}"#,
        r#""$page":{"first":"5"}"#,
        r#""$page":{"first":null}"#,
        r#""$page":{"after":5}"#,
        r#""$page":{"last":0}"#,
        r#""$distinct":["id","id"]"#,
        r#""$distinct":"id""#,
        r#""$groupBy":["id","id"]"#,
        r#""$groupBy":"id""#,
        r#""$distinct":["id"],"$groupBy":["id"]"#,
        r#""$distinct":["id"],"$aggregate":{"n":{"fn":"count"}}"#,
        r#""$having":{"field":"id","op":"eq","value":1}"#,
        r#""$groupBy":["id"],"$having":{"field":"likes","op":"eq","value":1}"#,
        r#""$groupBy":["id"],"$having":{"aggregate":"n","op":"eq","value":1}"#,
        r#""$groupBy":["authorId"]"#,
        r#""$groupBy":["author"]"#,
        r#""$distinct":["title"]"#,
        r#""$aggregate":{"n":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"id":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"1n":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"a b":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"median","field":"likes"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum","field":"*"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum","field":"title"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"avg","field":"title"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"min","field":"published"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"max","field":"published"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"count","field":"nosuch"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"count","extra":1}}"#,
        r#""$groupBy":["id"],"$orderBy":[{"field":"likes","direction":"asc"}]"#,
        r#""$groupBy":["id"],"$orderBy":[{"aggregate":"n","direction":"asc"}]"#,
    ];
    let mut cases: Vec<Case> = controls.iter().map(|control| read("/post", &posts_with(control))).collect();
    let alias = format!(r#""$groupBy":["id"],"$aggregate":{{"{}":{{"fn":"count"}}}}"#, "a".repeat(65));
    cases.push(read("/post", &posts_with(&alias)));
    cases.push(
        read("/post", r#"{"post":{"$select":{"comments":{"$select":{"id":true},"$page":{"after":"abc"}}}}}"#)
            .path("post.comments")
            .says("after"),
    );
    check(&server, &cases);
}

#[test]
fn operators_and_values_of_the_wrong_type_are_refused() {
    let server = Server::with_database(&Database::blog());
    let mut cases = vec![
        filtered(r#"{"field":"title","op":"lik","value":"a"}"#).says("lik").says("'like'"),
        filtered(r#"{"field":"title","op":"EQ","value":"a"}"#).says("EQ").says("'eq'"),
        filtered(r#"{"field":"title","op":"=","value":"a"}"#),
        filtered(r#"{"field":"title","op":5,"value":"a"}"#),
        // Values of types that no field has.
        filtered(r#"{"field":"likes","op":"eq","value":[1]}"#).says("eq").path("post"),
        filtered(r#"{"field":"title","op":"eq","value":["a"]}"#).says("eq").path("post"),
        filtered(r#"{"field":"title","op":"eq","value":{}}"#).says("value").path("post"),
    ];
    for op in ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "ilike"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":null}}"#)).says("isNull"));
    }
    for op in ["in", "nin"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":[null]}}"#)).says("isNull"));
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":"a"}}"#)).says(op));
    }
    for op in ["isNull", "isNotNull"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":true}}"#)).says("value"));
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":0}}"#)).says("value"));
    }
    let values = [
        ("likes", "eq", "1.5"),
        ("likes", "eq", "\"five\""),
        ("likes", "in", "[1,1.5]"),
        ("likes", "eq", "true"),
        ("likes", "eq", "99999999999999999999"),
        ("score", "gt", "\"high\""),
        ("published", "eq", "\"yes\""),
        ("published", "eq", "2"),
        ("title", "eq", "5"),
        ("title", "like", "5"),
        ("createdAt", "gt", "true"),
        ("attributes", "eq", "\"x\""),
        ("attributes", "like", "\"x\""),
        ("picture", "eq", "\"AP8Q\""),
        ("picture", "in", "[]"),
    ];
    for (field, op, value) in values {
        cases.push(filtered(&format!(r#"{{"field":"{field}","op":"{op}","value":{value}}}"#)).says(field));
    }
    check(&server, &cases);
}

#[test]
fn values_of_the_type_of_the_field_are_accepted() {
    let server = Server::with_database(&Database::blog());
    let cases = [
        ("likes", r#""op":"eq","value":5"#, json!([1])),
        ("likes", r#""op":"eq","value":5.0"#, json!([1])),
        ("likes", r#""op":"ne","value":5"#, json!([2, 4])),
        ("likes", r#""op":"nin","value":[5]"#, json!([2, 4])),
        ("likes", r#""op":"in","value":[]"#, json!([])),
        ("likes", r#""op":"nin","value":[]"#, json!([1, 2, 3, 4])),
        ("likes", r#""op":"isNull""#, json!([3])),
        ("likes", r#""op":"isNotNull""#, json!([1, 2, 4])),
        ("score", r#""op":"lt","value":2"#, json!([1, 4])),
        ("published", r#""op":"eq","value":true"#, json!([1, 3])),
        ("published", r#""op":"eq","value":false"#, json!([2])),
        ("title", r#""op":"like","value":"a%""#, json!([])),
        ("title", r#""op":"ilike","value":"a%""#, json!([3])),
        ("title", r#""op":"like","value":"A_map""#, json!([3])),
        ("title", r#""op":"like","value":"A\\_map""#, json!([])),
        ("createdAt", r#""op":"gte","value":"2024-01-02T03:04:05""#, json!([1, 3])),
        ("createdAt", r#""op":"eq","value":"2024-01-02T03:04:05""#, json!([1])),
        ("attributes", r#""op":"isNotNull""#, json!([1])),
        ("picture", r#""op":"isNull""#, json!([2, 3, 4])),
    ];
    let mut faults = Vec::new();
    for (field, filter, expected) in &cases {
        let reply = server.get("/post", &posts_with(&format!(r#""$where":{{"field":"{field}",{filter}}}"#)));
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let ids: Option<Vec<Value>> =
            body["items"].as_array().map(|items| items.iter().map(|item| item["id"].clone()).collect());
        if ids.map(Value::from).as_ref() != Some(expected) {
            faults.push(format!("{field} {filter}: {expected} expected, got {}", reply.text()));
        }
    }
    report(&faults);
}
