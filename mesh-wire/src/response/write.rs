//! Replies to writes. `SPEC §11`

use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use http::{Response, StatusCode};

use super::{RequestHead, as_json, identify};
use crate::route::percent;
use crate::{BasePath, headers};

/// Builds the reply of a write: 201 with the location of the created record, 200 with the changed record, or 204.
pub fn written(request: &RequestHead<'_>, location: Option<String>, body: Option<Bytes>) -> Response<Bytes> {
    let has_body = body.is_some();
    let mut reply = Response::new(body.unwrap_or_default());
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(location) = location {
        *reply.status_mut() = StatusCode::CREATED;
        reply.headers_mut().insert(LOCATION, headers::ascii(location));
    } else if !has_body {
        *reply.status_mut() = StatusCode::NO_CONTENT;
    }
    if has_body {
        as_json(request, &mut reply)
    } else {
        identify(request, &mut reply)
    }
    reply
}

/// Returns the path of a record for the `Location` header.
pub fn location(base: &BasePath, entity: &str, id: &str) -> String {
    format!("{base}/{}/{}", percent::encode(entity), percent::encode(id))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::RequestId;

    #[test]
    fn the_status_depends_on_location_and_body() {
        let (headers, id) = (HeaderMap::new(), RequestId::from_headers(&HeaderMap::new(), [0; 16]));
        let request = RequestHead { method: &Method::POST, headers: &headers, request_id: &id };
        let created = location(&BasePath::default(), "ta g", "ü/7");
        let reply = written(&request, Some(created), Some(Bytes::from_static(b"{}")));
        assert_eq!(reply.status(), 201);
        assert_eq!(reply.headers()["location"], "/mesh/ta%20g/%C3%BC%2F7");
        assert_eq!(reply.headers()["content-type"], headers::JSON);
        assert_eq!(written(&request, None, Some(Bytes::from_static(b"{}"))).status(), 200);
        let reply = written(&request, None, None);
        assert_eq!(reply.status(), 204);
        assert!(
            !reply.headers().contains_key("content-type") && reply.headers().contains_key("x-request-id")
        );
    }
}
