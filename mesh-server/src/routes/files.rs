//! Stored files: whole or in ranges, with headers that keep browsers from running them. `SPEC §9.7`

use std::future::Future;

use futures_util::TryStreamExt as _;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LOCATION,
    RANGE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::Frame;
use mesh_plan::BoxFuture;
use mesh_uploads::{BlobInfo, LinkMethod, RequestedRange, StorageKey, StoreError, StoreErrorKind};
use mesh_wire::response::ETag;
use mesh_wire::{ErrorKind, RequestHead, WireError, headers, response};

use crate::identity::signed::Signed;
use crate::observability::error_log;
use crate::pipeline::admission;
use crate::pipeline::authenticate;
use crate::pipeline::body::Body;
use crate::pipeline::context::RequestContext;
use crate::uploads::Uploads;
use crate::uploads::recovery::is_recorded;

/// How often the search for a missing file is repeated: several concurrent sweeps may hide it one after the other.
const TRIES: usize = 3;

/// Answers `GET` and `HEAD {base}/files/<storage key>`.
pub(crate) async fn file(cx: &RequestContext<'_>, text: &str) -> Result<Response<Body>, WireError> {
    let uploads = cx.shared.options.uploads.as_ref().ok_or_else(WireError::not_found)?;
    authenticate::without_body(cx, Signed::File(text)).await?;
    let key = StorageKey::parse(text).ok_or_else(missing)?;
    let (info, location) = wait(cx, look_up(cx, uploads, key)).await?.ok_or_else(missing)?;
    // The bytes of a key never change, but their content type may.
    let tag = ETag::new(format!("{key} {}", info.content_type).as_bytes());
    let mut reply = Response::new(Body::from(bytes::Bytes::new()));
    let common = reply.headers_mut();
    common.insert(&headers::REQUEST_ID, cx.head.request_id.value());
    common.insert(VARY, HeaderValue::from_static(headers::VARY));
    if let Some(location) = location {
        return redirect(reply, &location);
    }
    common.insert(ETAG, tag.value());
    common.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if tag.matches(cx.head.headers) {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(reply);
    }
    describe(common, &info);
    let range = match requested_range(&cx.head, &tag, info.size) {
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
    if *cx.head.method != Method::HEAD && length > 0 {
        let opened = find(cx, uploads, key, || uploads.store.open(key, range.clone()));
        let blob = wait(cx, opened).await?.ok_or_else(missing)?;
        *reply.body_mut() = Body::stream(StreamBody::new(blob.bytes.map_ok(Frame::data)));
    }
    Ok(reply)
}

/// Awaits the store under the admission limit and the deadline of the request, because a bucket may be slow or unreachable.
async fn wait<T>(
    cx: &RequestContext<'_>,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, WireError> {
    let Some(done) = admission::run(cx, work).await? else {
        let late = StoreError::new("answer in time", "the deadline of the request has passed");
        error_log::chain(cx.request_id(), &late);
        return Err(late.with_kind(StoreErrorKind::TimedOut).into());
    };
    done.map_err(|error| {
        error_log::chain(cx.request_id(), &error);
        error.into()
    })
}

/// Finds a published file and, if there is one, the URL from which clients should download it.
async fn look_up(
    cx: &RequestContext<'_>,
    uploads: &Uploads,
    key: StorageKey,
) -> Result<Option<(BlobInfo, Option<String>)>, StoreError> {
    let info = find(cx, uploads, key, || uploads.store.find(key)).await?;
    let Some(info) = info else { return Ok(None) };
    let is_head = *cx.head.method == Method::HEAD;
    let method = if is_head { LinkMethod::Head } else { LinkMethod::Get };
    Ok(Some((info, uploads.store.presigned_url(key, method).await?)))
}

/// Looks for a published file, which a sweep may hide for a moment.
async fn find<'s, T>(
    cx: &RequestContext<'_>,
    uploads: &'s Uploads,
    key: StorageKey,
    look: impl Fn() -> BoxFuture<'s, Result<Option<T>, StoreError>>,
) -> Result<Option<T>, StoreError> {
    for _ in 0..TRIES {
        if let Some(found) = look().await? {
            return Ok(Some(found));
        }
        if !settle(cx, uploads, key).await? {
            break;
        }
    }
    // A sweep may have made it visible again.
    look().await
}

/// Publishes a sealed file that has a record. Records are committed shortly before their files are published, and a
/// sweep hides a file while it looks for a record. Returns whether the file was published.
async fn settle(cx: &RequestContext<'_>, uploads: &Uploads, key: StorageKey) -> Result<bool, StoreError> {
    let recorded = is_recorded(&cx.shared.mesh, uploads, key);
    mesh_uploads::publish_if_recorded(&*uploads.store, key, recorded).await
}

/// Sets the headers of the content. They keep a browser from running it, regardless of its content type.
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

/// Returns the requested range. Ranges apply to GET only and, if `If-Range` is present, only if it names this version.
fn requested_range(head: &RequestHead<'_>, tag: &ETag, size: u64) -> RequestedRange {
    let applies = *head.method == Method::GET
        && head.headers.get(IF_RANGE).is_none_or(|version| *version == tag.value());
    let range = head.headers.get(RANGE).filter(|_| applies).and_then(|range| range.to_str().ok());
    RequestedRange::parse(range, size)
}

fn redirect(mut reply: Response<Body>, location: &str) -> Result<Response<Body>, WireError> {
    *reply.status_mut() = StatusCode::FOUND;
    let location = HeaderValue::try_from(location).map_err(|_| WireError::internal())?;
    reply.headers_mut().insert(LOCATION, location);
    // The location is valid for minutes only, and works for everyone who has it.
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

/// Returns the error for a range that cannot be satisfied, with the size of the file.
fn unsatisfiable(cx: &RequestContext<'_>, size: u64) -> Response<Body> {
    let message = format!("The file has {size} bytes; request a range within them");
    let error = WireError { status: StatusCode::RANGE_NOT_SATISFIABLE, ..WireError::transport(message) };
    let mut reply = response::error(&cx.head, &error).map(Body::from);
    set(reply.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
    reply
}

fn missing() -> WireError {
    WireError::new(ErrorKind::NotFound, "There is no file of that key")
}

/// Sets a header to text that is a valid header value.
fn set(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(name, value);
    }
}
