//! Tests of paging.

use mesh_ql::build::{param, query};

use super::*;
use crate::client::Endpoint;
use crate::{MeshHeaders, QuerySource};

fn pages() -> Pages {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    client.pages(query("post").field("id").first(2).build())
}

fn page(ids: &str, has_next: bool, end: &str) -> Response<Bytes> {
    let body = format!(r#"{{"items":[{ids}],"pageInfo":{{"hasNextPage":{has_next},"endCursor":{end}}}}}"#);
    let reply = Response::builder().header("content-type", "application/json");
    reply.body(Bytes::from(body)).unwrap()
}

fn next_query(pages: &Pages) -> String {
    let request = pages.request().unwrap().unwrap();
    match MeshHeaders::scan(request.headers()).raw_query().unwrap().decode().unwrap() {
        QuerySource::Text { text, .. } => text,
        QuerySource::Id(id) => id,
    }
}

fn sent_params(request: &Request<Bytes>) -> String {
    let value = request.headers()["x-mesh-params"].as_bytes();
    String::from_utf8(data_encoding::BASE64.decode(value).unwrap()).unwrap()
}

#[test]
fn a_parameter_for_the_cursor_gets_the_cursor_as_its_value() {
    let text = r#"{"post":{"$select":{"id":true},"$page":{"first":{"$param":"n"},"after":{"$param":"at"}}}}"#;
    let query = mesh_ql::parse(mesh_ql::Format::Json, text, &mesh_ql::Limits::default()).unwrap();
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    let params = ParamValues::new().with("n", 2).with("at", ParamValue::Null);
    let mut pages = client.pages(query).with_params(params);
    assert_eq!(sent_params(&pages.request().unwrap().unwrap()), r#"{"at":null,"n":2}"#);
    assert!(pages.receive(page(r#"{"id":1},{"id":2}"#, true, r#""b""#)).unwrap().is_some());
    // All pages have the same query, and therefore the same query id.
    assert_eq!(next_query(&pages), text);
    assert_eq!(sent_params(&pages.request().unwrap().unwrap()), r#"{"at":"b","n":2}"#);
    assert!(pages.clone().receive(page("", true, r#""b""#)).is_err(), "the cursor does not advance");
    assert!(pages.receive(page(r#"{"id":3}"#, false, r#""c""#)).unwrap().is_some());
    assert!(pages.request().is_none());
}

#[test]
fn pages_after_skipped_records_begin_at_cursors() {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    let read = query("post").field("id").first(param("size")).skip(param("start")).build();
    let params = ParamValues::new().with("size", 1).with("start", 40);
    let mut pages = client.pages(read).with_params(params);
    pages.receive(page(r#"{"id":41}"#, true, r#""a""#)).unwrap();
    let next = r#"{"post":{"$select":{"id":true},"$page":{"first":{"$param":"size"},"after":"a"}}}"#;
    assert_eq!(next_query(&pages), next);
    assert_eq!(sent_params(&pages.request().unwrap().unwrap()), r#"{"size":1}"#);
}

#[test]
fn pages_whose_cursor_does_not_advance_are_refused() {
    assert!(pages().receive(page("", true, "null")).is_err());
    let mut pages = pages();
    pages.receive(page(r#"{"id":1}"#, true, r#""a""#)).unwrap();
    assert!(pages.receive(page(r#"{"id":1}"#, true, r#""a""#)).is_err(), "the cursor has not advanced");
    assert!(pages.request().is_some(), "the request can be repeated");
    let no_page = Response::builder().header("content-type", "application/json");
    assert!(pages.receive(no_page.body(Bytes::from_static(b"{}")).unwrap()).is_err());
}

#[test]
fn pages_of_the_last_records_are_read_backward() {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    let mut pages = client.pages(query("post").field("id").last(2).total().build());
    let reply = |ids: &str, has_previous: bool, start: &str| {
        let body = format!(
            r#"{{"items":[{ids}],"pageInfo":{{"hasNextPage":false,"hasPreviousPage":{has_previous},"startCursor":{start},"endCursor":"z","totalCount":3}}}}"#
        );
        let reply = Response::builder().header("content-type", "application/json");
        reply.body(Bytes::from(body)).unwrap()
    };
    let last = pages.receive(reply(r#"{"id":2},{"id":3}"#, true, r#""b""#)).unwrap().unwrap();
    assert_eq!(
        (last.start_cursor.as_deref(), last.has_previous, last.total),
        (Some("b"), Some(true), Some(3))
    );
    let next = r#"{"post":{"$select":{"id":true},"$page":{"last":2,"before":"b","total":true}}}"#;
    assert_eq!(next_query(&pages), next);
    assert!(pages.clone().receive(reply("", true, r#""b""#)).is_err(), "the cursor has not moved");
    let first = pages.receive(reply(r#"{"id":1}"#, false, r#""a""#)).unwrap().unwrap();
    assert_eq!(first.has_previous, Some(false));
    assert!(pages.request().is_none());
}
