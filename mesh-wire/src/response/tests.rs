//! Tests of the headers of replies.

use super::*;
use crate::{BasePath, Challenge, Code, Profiles, Route};

fn reply(method: Method, if_none_match: &[&str]) -> Response<Bytes> {
    let mut headers = HeaderMap::new();
    for value in if_none_match {
        headers.append(http::header::IF_NONE_MATCH, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let request_id = RequestId::from_headers(&headers, [1; 16]);
    let request = RequestHead { method: &method, headers: &headers, request_id: &request_id };
    read(&request, Bytes::from_static(b"null"), None)
}

/// Formats status, headers sorted by name, and body.
fn formatted(reply: &Response<Bytes>) -> String {
    let mut lines: Vec<String> =
        reply.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    let body = std::str::from_utf8(reply.body()).unwrap();
    format!("{}\n{}\n{body}", reply.status().as_u16(), lines.join("\n"))
}

const TAG: &str = "\"dc32537e27486e2c652e7b35ccc22eda\"";

#[test]
fn get_has_a_tag() {
    assert_eq!(
        formatted(&reply(Method::GET, &[])),
        format!(
            "200\ncache-control: no-cache\ncontent-type: application/json; charset=utf-8\netag: {TAG}\nvary: \
             X-Mesh-Query, X-Mesh-Query-Id, X-Mesh-Params, X-Mesh-Format, X-Mesh-Token, Authorization, Accept, Accept-Encoding, Origin\nx-request-id: \
             01010101010101010101010101010101\nnull"
        )
    );
}

#[test]
fn head_is_get_without_a_body() {
    let (get, head) = (reply(Method::GET, &[]), reply(Method::HEAD, &[]));
    assert!(head.body().is_empty());
    assert_eq!(head.headers().get(CONTENT_LENGTH).unwrap(), "4");
    assert!(get.headers().iter().all(|(name, value)| head.headers().get(name) == Some(value)));
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
fn a_body_that_the_client_has_is_not_sent_again() {
    let weak = format!("W/{TAG}");
    let listed = format!("\"a\", W/\"b,c\" ,{TAG}");
    for value in [TAG, &weak, &listed, "*", " * "] {
        for method in [Method::GET, Method::HEAD] {
            let reply = reply(method, &[value]);
            assert_eq!(reply.status(), StatusCode::NOT_MODIFIED, "{value}");
            assert!(reply.body().is_empty());
            assert_eq!(reply.headers().get(ETAG).unwrap(), TAG);
            assert!(reply.headers().contains_key(VARY) && reply.headers().contains_key(CACHE_CONTROL));
            assert!(!reply.headers().contains_key(CONTENT_TYPE));
        }
    }
    assert_eq!(reply(Method::GET, &["\"a\"", TAG]).status(), StatusCode::NOT_MODIFIED);
}

#[test]
fn a_304_has_the_tag_of_the_cached_encoding() {
    let packed = TAG.replace("a\"", "a-gzip\"");
    for value in [packed.clone(), format!("\"a\", W/{packed}")] {
        let reply = reply(Method::GET, &[&value]);
        assert_eq!(reply.status(), StatusCode::NOT_MODIFIED, "{value}");
        assert_eq!(reply.headers().get(ETAG).unwrap(), packed.as_str());
    }
}

#[test]
fn other_tags_do_not_match() {
    let bare = TAG.trim_matches('"');
    let quoted = format!("\"{TAG}\"");
    let within = format!("\"x{TAG}");
    for value in ["", "\"a\"", bare, &quoted, &within, "w/", "W/", "\"", ",,,", "**", "\"a\" \"b\"", "é"] {
        assert_eq!(reply(Method::GET, &[value]).status(), StatusCode::OK, "{value}");
    }
}

#[test]
fn equal_bodies_have_equal_tags() {
    assert_ne!(ETag::new(b"a"), ETag::new(b"b"));
    assert_eq!(ETag::new(b"a"), ETag::new(b"a"));
}

fn failed(method: Method, failure: &WireError) -> Response<Bytes> {
    let headers = HeaderMap::new();
    let request_id = RequestId::from_headers(&headers, [2; 16]);
    error(&RequestHead { method: &method, headers: &headers, request_id: &request_id }, failure)
}

#[test]
fn errors_are_json_and_not_stored() {
    let failure = WireError::validation("Field 'x' not found on entity 'user'")
        .with_code(Code::CursorMismatch)
        .with_path("user.posts");
    let failure = WireError { line: Some(1), column: Some(2), ..failure };
    assert_eq!(
        formatted(&failed(Method::GET, &failure)),
        "400\ncache-control: no-store\ncontent-type: application/json; charset=utf-8\nx-request-id: \
         02020202020202020202020202020202\n{\"error\":\"ValidationError\",\"message\":\"Field 'x' not found on \
         entity 'user'\",\"requestId\":\"02020202020202020202020202020202\",\"code\":\"CURSOR_MISMATCH\",\
         \"path\":\"user.posts\",\"line\":1,\"column\":2}"
    );
    assert!(failed(Method::HEAD, &failure).body().is_empty());
}

#[test]
fn errors_have_the_headers_of_their_kind() {
    let header =
        |reply: Response<Bytes>, name| reply.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
    let wrong = Route::parse(&BasePath::default(), &Profiles::default(), &Method::DELETE, "/mesh/user/1")
        .unwrap_err();
    assert_eq!(header(failed(Method::DELETE, &wrong), ALLOW).as_deref(), Some("GET, HEAD, PUT, OPTIONS"));
    for failure in [WireError::unavailable(3), WireError::rate_limit(3)] {
        assert_eq!(header(failed(Method::GET, &failure), RETRY_AFTER).as_deref(), Some("3"));
    }
    let unsigned = WireError::new(ErrorKind::Integrity, "no token");
    assert_eq!(header(failed(Method::GET, &unsigned), WWW_AUTHENTICATE).as_deref(), Some("Mesh"));
    for (challenge, expected) in [
        (Challenge::Bearer, &["Bearer"][..]),
        (Challenge::InvalidBearer, &["Bearer error=\"invalid_token\""]),
        (Challenge::Any, &["Mesh", "Bearer"]),
    ] {
        let reply = failed(Method::GET, &unsigned.clone().with_challenge(challenge));
        let sent: Vec<_> = reply.headers().get_all(WWW_AUTHENTICATE).iter().collect();
        assert_eq!(sent, expected, "{challenge:?}");
    }
    let denied = WireError { status: StatusCode::FORBIDDEN, ..unsigned };
    assert_eq!(header(failed(Method::GET, &denied), WWW_AUTHENTICATE), None);
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

#[test]
fn options_has_no_body() {
    let headers = HeaderMap::new();
    let request_id = RequestId::from_headers(&headers, [0; 16]);
    let request = RequestHead { method: &Method::OPTIONS, headers: &headers, request_id: &request_id };
    let Ok(Route::Options { allow }) =
        Route::parse(&BasePath::default(), &Profiles::default(), request.method, "/mesh/user")
    else {
        panic!("a known path")
    };
    let reply = options(&request, allow);
    assert_eq!(reply.status(), StatusCode::NO_CONTENT);
    assert_eq!(reply.headers().get(ALLOW).unwrap(), "GET, HEAD, OPTIONS");
    assert!(reply.headers().contains_key(&headers::REQUEST_ID) && reply.body().is_empty());
}

proptest::proptest! {
    #[test]
    fn splitting_of_tags_terminates(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
        proptest::prop_assert!(etag::tags(&line).count() <= line.len());
    }
}
