//! Tests of the requests that an operation sends.

use mesh_ql::build::query;

use super::*;
use crate::WireError;
use crate::client::{Endpoint, List};

fn client() -> Client {
    Client::new(Endpoint::parse("http://localhost/mesh").unwrap())
}

fn titles() -> Query {
    query("post").field("title").build()
}

fn reply(status: u16, body: &str) -> Response<Bytes> {
    let reply = Response::builder().status(status).header("content-type", "application/json");
    reply.body(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

fn refusal(error: &WireError) -> Response<Bytes> {
    let code = error.code.map_or("NONE", Code::as_str);
    let body =
        format!(r#"{{"error":"{}","message":"no","requestId":"r","code":"{code}"}}"#, error.kind.as_str());
    reply(error.status.as_u16(), &body)
}

/// Checks the requests of an operation and its outcome, given the replies.
fn check(mut operation: Operation, replies: impl IntoIterator<Item = Response<Bytes>>, expected: &[&str]) {
    let mut actual = Vec::new();
    for reply in replies {
        let request = operation.request().unwrap();
        let id = request.headers().get("x-mesh-query-id").map_or("", |id| id.to_str().unwrap());
        let query = if request.headers().contains_key("x-mesh-query") { "text" } else { id };
        actual.push(format!("{} {} {query}", request.method(), request.uri().path()).trim_end().to_owned());
        match operation.receive(reply) {
            Ok(None) => {}
            Ok(Some(body)) => actual.push(format!("=> {}", String::from_utf8_lossy(&body))),
            Err(error) => actual.push(format!("=> {error}")),
        }
    }
    assert_eq!(actual, expected);
}

#[test]
fn values_of_parameters_are_sent_beside_the_query() {
    let text =
        r#"{"post":{"$select":{"id":true},"$where":{"field":"title","op":"eq","value":{"$param":"t"}}}}"#;
    let query = mesh_ql::parse(Format::Json, text, &mesh_ql::Limits::default()).unwrap();
    let params = |value: &str| ParamValues::new().with("t", value);
    let header = |operation: &Operation| {
        let request = operation.request().unwrap();
        let value = request.headers().get("x-mesh-params").map(|value| value.as_bytes().to_vec());
        value.map(|value| String::from_utf8(data_encoding::BASE64.decode(&value).unwrap()).unwrap())
    };
    let expected = Some(r#"{"t":"Größe"}"#.to_owned());
    assert_eq!(header(&client().collection(&query).with_params(params("Größe"))), expected);
    assert_eq!(header(&client().point(&query, "7").with_params(params("Größe"))), expected);
    assert_eq!(header(&client().collection(&query)), None);
    // The values are sent with the id of the query, computed or assigned, but not with its registration.
    let mut byid = client().with_persisted_queries().collection(&query).with_params(params("Größe"));
    assert_eq!(header(&byid), expected);
    assert_eq!(byid.receive(refusal(&WireError::query_id_unknown())).unwrap(), None);
    assert_eq!(header(&byid), None);
    assert_eq!(byid.receive(reply(200, r#"{"id":"q_assigned"}"#)).unwrap(), None);
    assert_eq!(header(&byid), expected);
    // Long values are posted with the query.
    let posted = client().point(&query, "7").with_params(params(&"x".repeat(9_000))).request().unwrap();
    let body: Value = serde_json::from_slice(posted.body()).unwrap();
    assert_eq!((posted.method().as_str(), posted.uri().path()), ("POST", "/mesh"));
    assert_eq!((body["params"]["t"].as_str().map(str::len), &body["id"]), (Some(9_000), &Value::from("7")));
    assert!(!posted.headers().contains_key("x-mesh-params"));
}

#[test]
fn the_text_is_sent_if_registration_is_disabled() {
    let no_route = WireError::method_not_allowed(&http::Method::POST, crate::AllowedMethods::new(&[]));
    for closed in [WireError::integrity(Code::QueryNotAllowed, "no"), no_route, WireError::not_found()] {
        let unknown = refusal(&WireError::query_id_unknown());
        let operation = client().with_persisted_queries().collection(&titles());
        check(
            operation,
            [unknown, refusal(&closed), reply(200, "{}")],
            &[
                "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
                "POST /mesh/queries",
                "GET /mesh/post text",
                "=> {}",
            ],
        );
    }
}

#[test]
fn a_refusal_ends_the_operation() {
    let operation = || client().with_persisted_queries().collection(&titles());
    check(
        operation(),
        [refusal(&WireError::not_found())],
        &["GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8", "=> NotFound: no [NONE]"],
    );
    let unknown = refusal(&WireError::query_id_unknown());
    check(
        operation(),
        [unknown, reply(200, "[]")],
        &[
            "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
            "POST /mesh/queries",
            "=> the reply (status 200) did not come from a Mesh server; check the URL",
        ],
    );
}

#[test]
fn queries_with_a_cursor_are_not_registered() {
    let next = query("post").field("title").after("cursor").build();
    check(
        client().with_persisted_queries().collection(&next),
        [reply(200, "{}")],
        &["GET /mesh/post text", "=> {}"],
    );
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Post {
    title: String,
}

#[test]
fn answers_are_deserialized() {
    let dawn = Post { title: "Dawn".to_owned() };
    let record = client().point(&titles(), "7").receive_as::<Post>(reply(200, r#"{"title":"Dawn"}"#));
    assert_eq!(record.as_ref(), Ok(&Some(dawn)));
    let body = r#"{"items":[{"title":"Dawn"}],"pageInfo":{"hasNextPage":true,"startCursor":"a","endCursor":"a","totalCount":3}}"#;
    let page = client().collection(&titles()).receive_as::<List<Post>>(reply(200, body)).unwrap().unwrap();
    assert_eq!((page.items.len(), page.page_info.total_count), (1, Some(3)));
    assert_eq!((page.page_info.has_next_page, page.page_info.has_previous_page), (true, None));
    assert_eq!(client().delete("post", "7").receive_as::<()>(reply(204, "")), Ok(Some(())));
}

#[test]
fn an_answer_of_another_type_is_an_error() {
    let found = client().point(&titles(), "7").receive_as::<Post>(reply(200, r#"{"title":7}"#)).unwrap_err();
    assert!(matches!(&found, ReplyError::Type { why } if why.contains("expected a string")), "{found}");
}

#[test]
fn an_answer_is_deserialized_after_the_registration_of_its_query() {
    let mut operation = client().with_persisted_queries().point(&titles(), "7");
    let unknown = refusal(&WireError::query_id_unknown());
    assert_eq!(operation.receive_as::<Post>(unknown), Ok(None));
    assert_eq!(operation.receive_as::<Post>(reply(201, r#"{"id":"q_1"}"#)), Ok(None));
}
