//! How is a stored file served? Whole or in part, and so that a browser does no more with it than it should.
//! `SPEC §9.7`

use futures_util::TryStreamExt as _;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LOCATION,
    RANGE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::Frame;
use mesh_uploads::{BlobInfo, RequestedRange, StorageKey, StoreError};
use mesh_wire::response::ETag;
use mesh_wire::{ErrorKind, RequestHead, WireError, headers, response};

use super::admit::{self, Admitted};
use super::{Exchange, upload};
use crate::body::Body;
use crate::uploads::{Sight, Uploads, is_recorded};

/// `GET` and `HEAD {base}/files/<storage key>`
pub(crate) async fn file(cx: &Exchange<'_>, text: &str) -> Result<Response<Body>, WireError> {
    let uploads = cx.shared.uploads.as_ref().ok_or_else(WireError::not_found)?;
    let admitted = admit::of_file(cx, text).await?;
    let key = StorageKey::parse(text).ok_or_else(missing)?;
    let failed = |error: StoreError| {
        upload::log(cx.asked.request_id.as_str(), &error);
        WireError::internal()
    };
    let info = match uploads.store.find(key).await.map_err(failed)? {
        Some(info) => info,
        None => {
            settle(cx, uploads, &admitted, key).await.map_err(failed)?;
            uploads.store.find(key).await.map_err(failed)?.ok_or_else(missing)?
        }
    };
    // The bytes of a key never change, but the type that they are sent with may.
    let tag = ETag::new(format!("{key} {}", info.content_type).as_bytes());
    let mut reply = Response::new(Body::from(bytes::Bytes::new()));
    let common = reply.headers_mut();
    common.insert(&headers::REQUEST_ID, cx.asked.request_id.value());
    common.insert(VARY, HeaderValue::from_static(headers::VARY));
    if let Some(location) = uploads.store.location(key).await.map_err(failed)? {
        return elsewhere(reply, &location);
    }
    common.insert(ETAG, tag.value());
    common.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if tag.matches(cx.asked.headers) {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(reply);
    }
    describe(common, &info);
    let range = match wanted(&cx.asked, &tag, info.size) {
        RequestedRange::Nothing => return Ok(unsatisfiable(cx, info.size)),
        RequestedRange::Whole => None,
        RequestedRange::Part(range) => Some(range),
    };
    let length = range.as_ref().map_or(info.size, |range| range.end - range.start);
    reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(range) = &range {
        *reply.status_mut() = StatusCode::PARTIAL_CONTENT;
        let span = format!("bytes {}-{}/{}", range.start, range.end.saturating_sub(1), info.size);
        set(reply.headers_mut(), CONTENT_RANGE, &span);
    }
    if *cx.asked.method != Method::HEAD && length > 0 {
        let blob = uploads.store.open(key, range).await.map_err(failed)?.ok_or_else(missing)?;
        *reply.body_mut() = Body::stream(StreamBody::new(blob.bytes.map_ok(Frame::data)));
    }
    Ok(reply)
}

/// A record can be read a moment before its file is published. Who follows it gets the file all the same.
async fn settle(
    cx: &Exchange<'_>,
    uploads: &Uploads,
    admitted: &Admitted,
    key: StorageKey,
) -> Result<(), StoreError> {
    let principal = admitted.principal();
    let recorded = is_recorded(cx.shared, uploads, key, Sight::Of(principal.as_deref()));
    mesh_uploads::publish_if_recorded(&*uploads.store, key, recorded).await.map(|_| ())
}

/// Nothing of what a browser could run is shown in place, whatever the client that sent it said.
fn describe(headers: &mut HeaderMap, info: &BlobInfo) {
    set(headers, CONTENT_TYPE, info.content_type.as_str());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let policy = "default-src 'none'; sandbox; frame-ancestors 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if !info.content_type.is_safe_inline() {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
}

/// A range counts only for GET, and where the client has other bytes of this very file.
fn wanted(asked: &RequestHead<'_>, tag: &ETag, size: u64) -> RequestedRange {
    let headers = asked.headers;
    let is_same =
        *asked.method == Method::GET && headers.get(IF_RANGE).is_none_or(|known| *known == tag.value());
    let range = headers.get(RANGE).filter(|_| is_same).and_then(|range| range.to_str().ok());
    RequestedRange::parse(range, size)
}

fn elsewhere(mut reply: Response<Body>, location: &str) -> Result<Response<Body>, WireError> {
    *reply.status_mut() = StatusCode::FOUND;
    let location = HeaderValue::try_from(location).map_err(|_| WireError::internal())?;
    reply.headers_mut().insert(LOCATION, location);
    // The address is good for minutes only, and for whoever has it.
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

/// An error like any other, with one header that tells what could be asked for.
fn unsatisfiable(cx: &Exchange<'_>, size: u64) -> Response<Body> {
    let words = format!("The file has {size} bytes; ask for a range within them");
    let error = WireError { status: StatusCode::RANGE_NOT_SATISFIABLE, ..WireError::transport(words) };
    let mut reply = response::error(&cx.asked, &error).map(Body::from);
    set(reply.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
    reply
}

fn missing() -> WireError {
    WireError::new(ErrorKind::NotFound, "There is no file of that key")
}

/// Sets a header to text of which it is known that a header can have it.
fn set(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(name, value);
    }
}
