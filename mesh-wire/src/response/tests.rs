//! Tests of the headers of replies.

use super::*;
use crate::BasePath;

fn reply(method: Method, if_none_match: &[&str]) -> Response<Bytes> {
    let mut headers = HeaderMap::new();
    for value in if_none_match {
        headers.append(http::header::IF_NONE_MATCH, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let request_id = RequestId::from_headers(&headers, [1; 16]);
    let request = RequestHead { method: &method, headers: &headers, request_id: &request_id };
    read(&request, Bytes::from_static(b"null"), None)
}

#[test]
fn other_methods_have_no_tag() {
    for method in [Method::POST, Method::PUT] {
        let reply = reply(method, &["*"]);
        assert_eq!((reply.status().as_u16(), reply.body().as_ref()), (200, b"null".as_slice()));
        assert!(!reply.headers().contains_key(ETAG));
        assert_eq!(reply.headers().get(CACHE_CONTROL).unwrap(), "no-cache");
    }
}

#[test]
fn the_status_depends_on_location_and_body() {
    let (headers, id) = (HeaderMap::new(), RequestId::from_headers(&HeaderMap::new(), [0; 16]));
    let request = RequestHead { method: &Method::POST, headers: &headers, request_id: &id };
    let created = location(&BasePath::default(), "ta g", "%C3%BC%2F7,8");
    let reply = written(&request, Some(created), Some(Bytes::from_static(b"{}")));
    assert_eq!(reply.status(), 201);
    assert_eq!(reply.headers()["location"], "/mesh/ta%20g/%C3%BC%2F7,8");
    assert_eq!(reply.headers()["content-type"], headers::JSON);
    assert_eq!(written(&request, None, Some(Bytes::from_static(b"{}"))).status(), 200);
    let reply = written(&request, None, None);
    assert_eq!(reply.status(), 204);
    assert!(!reply.headers().contains_key("content-type") && reply.headers().contains_key("x-request-id"));
}

proptest::proptest! {
    #[test]
    fn splitting_of_tags_terminates(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
        proptest::prop_assert!(etag::tags(&line).count() <= line.len());
    }
}
