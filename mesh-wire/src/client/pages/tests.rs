//! Tests of paging: every page is read once.

use mesh_ql::build::query;

use super::*;
use crate::client::Endpoint;
use crate::{QuerySource, ReadRequest, ReadTarget};

fn pages() -> Pages {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    client.pages(query("post").field("id").first(2).build())
}

fn page(ids: &str, has_next: bool, end: &str) -> Response<Bytes> {
    let body = format!(r#"{{"items":[{ids}],"pageInfo":{{"hasNextPage":{has_next},"endCursor":{end}}}}}"#);
    let reply = Response::builder().header("content-type", "application/json");
    reply.body(Bytes::from(body)).unwrap()
}

fn sent(pages: &Pages) -> String {
    let request = pages.request().unwrap().unwrap();
    let target = ReadTarget::Collection { entity: "post".into() };
    match ReadRequest::from_head(target, request.headers()).unwrap().source {
        QuerySource::Text { text, .. } => text,
        QuerySource::Id(id) => id,
    }
}

#[derive(Deserialize)]
struct Post {
    id: u32,
}

#[test]
fn each_page_begins_where_the_one_before_it_ended() {
    let mut pages = pages();
    assert_eq!(sent(&pages), r#"{"post":{"$select":{"id":true},"$page":{"first":2}}}"#);
    let first = pages.receive(page(r#"{"id":1},{"id":2}"#, true, r#""b""#)).unwrap().unwrap();
    let ids: Vec<u32> = first.items::<Post>().unwrap().iter().map(|post| post.id).collect();
    assert_eq!((ids, first.end_cursor.as_deref(), first.has_next), (vec![1, 2], Some("b"), true));
    assert_eq!(sent(&pages), r#"{"post":{"$select":{"id":true},"$page":{"first":2,"after":"b"}}}"#);
    let last = pages.receive(page(r#"{"id":3}"#, false, r#""c""#)).unwrap().unwrap();
    assert_eq!(last.items::<Post>().unwrap().len(), 1);
    assert!(last.items::<String>().is_err());
    assert!(pages.request().is_none());
    assert_eq!(pages.receive(page("", true, "null")).unwrap(), None, "nobody asked");
}

#[test]
fn pages_that_lead_nowhere_are_refused() {
    assert!(pages().receive(page("", true, "null")).is_err());
    let mut pages = pages();
    pages.receive(page(r#"{"id":1}"#, true, r#""a""#)).unwrap();
    assert!(pages.receive(page(r#"{"id":1}"#, true, r#""a""#)).is_err(), "the same cursor again");
    assert!(pages.request().is_some(), "it can be tried again");
    let no_page = Response::builder().header("content-type", "application/json");
    assert!(pages.receive(no_page.body(Bytes::from_static(b"{}")).unwrap()).is_err());
}
