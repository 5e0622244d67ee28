//! Replies: results, errors and method lists with their headers. `SPEC §12.3`

mod cache_control;
mod cache_tags;
pub mod cors;
pub mod encoding;
pub(crate) mod etag;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    LOCATION, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};

use crate::route::percent;
use crate::{AllowedMethods, BasePath, ErrorKind, RequestId, WireError, headers};
pub use cache_control::{CacheControl, CacheControlError};
pub use cache_tags::{CacheTags, TagHeader};
pub use etag::ETag;

/// The parts of a request that its reply depends on.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    /// The method. Replies to `HEAD` have no body, and only `GET` and `HEAD` are answered with 304.
    pub method: &'r Method,
    /// The request's headers.
    pub headers: &'r HeaderMap,
    /// The request's id.
    pub request_id: &'r RequestId,
}

/// Builds the reply of a successful read that caches must revalidate before each use: 200, or 304 if the client already
/// has these bytes. `digest` is the digest of the body ([`ETag::digest`]), if known.
pub fn read(request: &RequestHead<'_>, body: Bytes, digest: Option<u128>) -> Response<Bytes> {
    read_with(request, body, digest, HeaderValue::from_static("no-cache"))
}

/// Builds the reply of a successful read with this `Cache-Control` ([`CacheControl::value`]).
pub fn read_with(
    request: &RequestHead<'_>,
    body: Bytes,
    digest: Option<u128>,
    control: HeaderValue,
) -> Response<Bytes> {
    let mut reply = Response::new(body);
    // Reserves space for six headers, so that the map does not grow.
    *reply.headers_mut() = HeaderMap::with_capacity(6);
    reply.headers_mut().insert(CACHE_CONTROL, control);
    if *request.method == Method::GET || *request.method == Method::HEAD {
        let tag = digest.map_or_else(|| ETag::new(reply.body()), ETag::from_digest);
        let held = tag.matching_tag(request.headers);
        let unchanged = held.is_some();
        reply.headers_mut().insert(ETAG, held.unwrap_or(tag).0);
        reply.headers_mut().insert(VARY, HeaderValue::from_static(headers::VARY));
        if unchanged {
            *reply.status_mut() = StatusCode::NOT_MODIFIED;
            *reply.body_mut() = Bytes::new();
            identify(request, &mut reply);
            return reply;
        }
    }
    as_json(request, &mut reply);
    reply
}

/// Forbids shared caches to store the reply of a read. `SPEC §12.3`
pub fn set_private<B>(reply: &mut Response<B>) {
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

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

/// Adds the header which states that records with equal ids were merged, as the client preferred. `SPEC §18.2`
pub fn set_merged<B>(reply: &mut Response<B>) {
    let applied = HeaderValue::from_static(headers::MERGE_DUPLICATES);
    reply.headers_mut().insert(&headers::PREFERENCE_APPLIED, applied);
}

/// Builds the reply of a write that created several records: 201 with an array of the records.
pub fn created_all(request: &RequestHead<'_>, body: Bytes) -> Response<Bytes> {
    let mut reply = written(request, None, Some(body));
    *reply.status_mut() = StatusCode::CREATED;
    reply
}

/// Builds the head of an export with this media type. `name` is the file name without the suffix. `SPEC §16.3`
pub fn export(
    request: &RequestHead<'_>,
    content_type: &'static str,
    name: &str,
    suffix: &str,
) -> Response<()> {
    let mut reply = Response::new(());
    let fields = reply.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let file = format!("attachment; filename*=UTF-8''{}.{suffix}", percent::encode(name));
    fields.insert(
        CONTENT_DISPOSITION,
        HeaderValue::try_from(file).unwrap_or(HeaderValue::from_static("attachment")),
    );
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(VARY, HeaderValue::from_static(headers::VARY));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    identify(request, &mut reply);
    reply
}

/// Returns the path of a record for the `Location` header. `id` is the percent-encoded id segment.
pub fn location(base: &BasePath, entity: &str, id: &str) -> String {
    format!("{base}/{}/{id}", percent::encode(entity))
}

/// Builds the reply of a failed request.
#[expect(clippy::expect_used, reason = "strings and integers always have a JSON text")]
pub fn error(request: &RequestHead<'_>, error: &WireError) -> Response<Bytes> {
    let body = serde_json::to_vec(&error.body(request.request_id)).expect("plain data");
    let mut reply = Response::new(Bytes::from(body));
    *reply.status_mut() = error.status;
    let fields = reply.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(allow) = error.allow {
        fields.insert(ALLOW, headers::ascii(allow.to_string()));
    }
    if let Some(seconds) = error.retry_after {
        fields.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.kind == ErrorKind::Integrity && error.status == StatusCode::UNAUTHORIZED {
        for challenge in error.challenge.values() {
            fields.append(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
    }
    as_json(request, &mut reply);
    reply
}

/// Builds the reply to `OPTIONS`: 204 and the methods of the path.
pub fn options(request: &RequestHead<'_>, allow: AllowedMethods) -> Response<Bytes> {
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply.headers_mut().insert(ALLOW, headers::ascii(allow.to_string()));
    identify(request, &mut reply);
    reply
}

fn as_json(request: &RequestHead<'_>, reply: &mut Response<Bytes>) {
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(headers::JSON));
    if *request.method == Method::HEAD {
        // The length that the body of a GET would have.
        let length = HeaderValue::from(reply.body().len());
        reply.headers_mut().insert(CONTENT_LENGTH, length);
        *reply.body_mut() = Bytes::new();
    }
    identify(request, reply);
}

fn identify<B>(request: &RequestHead<'_>, reply: &mut Response<B>) {
    reply.headers_mut().insert(&headers::REQUEST_ID, request.request_id.value());
}

#[cfg(test)]
mod tests;
