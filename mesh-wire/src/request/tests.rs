//! Tests of request decoding, and of the errors of refused requests.

use super::*;
use crate::ErrorKind;

fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

fn posted(content_type: &str, body: &str) -> Result<PostBody, WireError> {
    decode_body(&head(&[("content-type", content_type)]), body.as_bytes())
}

#[test]
fn invalid_bodies_are_refused() {
    let deep = format!(r#"{{"x": {}"#, "[".repeat(100_000));
    for (body, message) in [
        ("", "The body must be a JSON object {query, format?, id?}"),
        (r#""{}""#, "The body must be a JSON object {query, format?, id?}"),
        ("null", "The body must be a JSON object {query, format?, id?}"),
        ("\u{feff}{}", "The body must be a JSON object {query, format?, id?}"),
        (r#"{"Query": "{}"}"#, "The body has no 'query'"),
        (r#"{"query": null}"#, "'query' in the body must be a string"),
        (r#"{"query": "\ud800"}"#, "'query' in the body must be a string"),
        (r#"{"query": "{}", "format": null}"#, "'format' in the body must be \"json\" or \"ql\""),
        (r#"{"query": "{}", "id": null}"#, "'id' in the body must be a string, a number or an array"),
        (r#"{"query": "{}", "id": [null]}"#, "'id' in the body must be a string, a number or an array"),
        (r#"{"query": "{}", "id": true}"#, "'id' in the body must be a string, a number or an array"),
        (r#"{"query": "{}",}"#, "The body is not a valid JSON object: "),
        (r#"{"query": "{}", "id": 01}"#, "The body is not a valid JSON object: "),
        (r#"{"query": "{}", "query": "{}"}"#, "The body is not a valid JSON object: duplicate field `query`"),
        (
            r#"{"id": 1, "query": "{}", "\u0069d": 2}"#,
            "The body is not a valid JSON object: duplicate field `id`",
        ),
        (&deep, "The body is not a valid JSON object: "),
    ] {
        let error = posted("application/json", body).unwrap_err();
        assert_eq!((error.kind, error.status.as_u16()), (ErrorKind::Transport, 400), "{body:.40}");
        assert!(error.message.starts_with(message), "{body:.40}: {error}");
    }
    let error =
        decode_body(&head(&[("content-type", "application/json")]), b"{\"query\": \"\xff\"}").unwrap_err();
    assert_eq!(error.message, "The body is not valid UTF-8 at byte 12");
}

#[test]
fn heads_over_the_limit_are_refused() {
    let size = |path: &str, header: usize| {
        let uri: Uri = path.parse().unwrap();
        let value = "a".repeat(header);
        let fields = MeshHeaders::scan(&head(&[("x-mesh-query", &value)])).size;
        check_head_size(&Method::GET, &uri, fields, 100).map_err(|error| (error.kind, error.status.as_u16()))
    };
    // "GET /mesh HTTP/1.1" and "x-mesh-query" are 18 and 12 bytes.
    assert_eq!(size("/mesh", 70), Ok(()));
    assert_eq!(size("/mesh", 71), Err((ErrorKind::Transport, 431)));
    assert_eq!(size(&format!("/mesh?{}", "a".repeat(100)), 0), Err((ErrorKind::Transport, 414)));
}

proptest::proptest! {
    #[test]
    fn no_body_panics(body in r#"[{}\[\]":,a-z0-9 \\]{0,40}"#) {
        if let Err(error) = posted("application/json", &body) {
            proptest::prop_assert_eq!(error.status.as_u16(), 400);
        }
    }
}
