//! Replies: results, errors and method lists with their headers. `SPEC §12.3`

mod write;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use http::{Method, Response, StatusCode};

use crate::encoding::plain_tag;
use crate::{AllowedMethods, ErrorKind, RequestId, WireError, headers};
pub use write::{location, written};

/// What a reply needs to know of its request.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    /// The method: `HEAD` is answered without a body, and only `GET` and `HEAD` may be answered from
    /// what the client has.
    pub method: &'r Method,
    /// The request's headers.
    pub headers: &'r HeaderMap,
    /// The request's id.
    pub request_id: &'r RequestId,
}

/// The reply of a read that succeeded: 200, or 304 where the client has these bytes already.
pub fn read(asked: &RequestHead<'_>, body: Bytes) -> Response<Bytes> {
    read_with_digest(asked, body, None)
}

/// The same for a body whose digest ([`ETag::digest`]) is known already.
pub fn read_with_digest(asked: &RequestHead<'_>, body: Bytes, digest: Option<u128>) -> Response<Bytes> {
    // Caches ask every time: what a client may see can change with any write.
    read_in(asked, body, digest, HeaderValue::from_static("no-cache"))
}

/// The same for a reply that is for its client alone: no cache between the two may keep it. `SPEC §12.3`
pub fn read_private(asked: &RequestHead<'_>, body: Bytes, digest: Option<u128>) -> Response<Bytes> {
    read_in(asked, body, digest, private())
}

fn private() -> HeaderValue {
    HeaderValue::from_static("private, no-cache")
}

fn read_in(
    asked: &RequestHead<'_>,
    body: Bytes,
    digest: Option<u128>,
    caching: HeaderValue,
) -> Response<Bytes> {
    let mut reply = Response::new(body);
    *reply.headers_mut() = HeaderMap::with_capacity(8);
    reply.headers_mut().insert(CACHE_CONTROL, caching);
    if *asked.method == Method::GET || *asked.method == Method::HEAD {
        let tag = digest.map_or_else(|| ETag::new(reply.body()), ETag::from_digest);
        let held = tag.held(asked.headers);
        let unchanged = held.is_some();
        reply.headers_mut().insert(ETAG, held.unwrap_or(tag).0);
        reply.headers_mut().insert(VARY, HeaderValue::from_static(headers::VARY));
        if unchanged {
            *reply.status_mut() = StatusCode::NOT_MODIFIED;
            *reply.body_mut() = Bytes::new();
            identify(asked, &mut reply);
            return reply;
        }
    }
    as_json(asked, &mut reply);
    reply
}

/// Says that a reply is for its client alone ([`read_private`]).
pub fn set_private<B>(reply: &mut Response<B>) {
    reply.headers_mut().insert(CACHE_CONTROL, private());
}

/// The reply of a request that failed.
#[expect(clippy::expect_used, reason = "strings and integers always have a JSON text")]
pub fn error(asked: &RequestHead<'_>, error: &WireError) -> Response<Bytes> {
    let body = serde_json::to_vec(&error.body(asked.request_id)).expect("plain data");
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
        fields.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Mesh"));
    }
    as_json(asked, &mut reply);
    reply
}

/// The reply of `OPTIONS`: 204 and the methods of the path.
pub fn options(asked: &RequestHead<'_>, allow: AllowedMethods) -> Response<Bytes> {
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply.headers_mut().insert(ALLOW, headers::ascii(allow.to_string()));
    identify(asked, &mut reply);
    reply
}

fn as_json(asked: &RequestHead<'_>, reply: &mut Response<Bytes>) {
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(headers::JSON));
    if *asked.method == Method::HEAD {
        // The length that GET would have sent; without it the empty body would be measured.
        let length = HeaderValue::from(reply.body().len());
        reply.headers_mut().insert(CONTENT_LENGTH, length);
        *reply.body_mut() = Bytes::new();
    }
    identify(asked, reply);
}

fn identify(asked: &RequestHead<'_>, reply: &mut Response<Bytes>) {
    reply.headers_mut().insert(&headers::REQUEST_ID, asked.request_id.value());
}

/// A strong tag of a body: equal tags mean equal bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(HeaderValue);

impl ETag {
    /// The tag of those bytes.
    pub fn new(body: &[u8]) -> Self {
        Self::from_digest(Self::digest(body))
    }

    /// The tag of bytes with that digest.
    pub fn from_digest(digest: u128) -> Self {
        let mut text = [b'"'; 34];
        if let Some(inner) = text.get_mut(1..33) {
            HEXLOWER.encode_mut(&digest.to_be_bytes(), inner);
        }
        Self(headers::ascii(text))
    }

    /// What a tag is made of: 128 bits (XXH3) that are the same on every server, and for no two bodies by
    /// accident. A cryptographic digest would take longer than many reads;
    /// who can write what others read needs no equal digests to mislead them.
    pub fn digest(body: &[u8]) -> u128 {
        twox_hash::XxHash3_128::oneshot(body)
    }

    /// The value of the `ETag` header, quotes and all.
    pub fn value(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Whether `If-None-Match` names this tag: in a list over one or more lines, as a weak tag too, or by
    /// `*`. What cannot be read as tags names nothing.
    pub fn matches(&self, headers: &HeaderMap) -> bool {
        self.held(headers).is_some()
    }

    /// The tag that `If-None-Match` names this one by, which may be that of the bytes in some encoding: a cache
    /// makes fresh what it has under the very tag of a 304, and nothing else.
    fn held(&self, headers: &HeaderMap) -> Option<Self> {
        headers.get_all(IF_NONE_MATCH).iter().find_map(|line| {
            let line = line.as_bytes().trim_ascii();
            if line == b"*" {
                return Some(self.clone());
            }
            let tag = tags(line).find(|tag| self.is(tag))?;
            HeaderValue::from_bytes(tag).ok().map(Self)
        })
    }

    /// Whether it is this tag, or that of these bytes in some encoding.
    fn is(&self, tag: &[u8]) -> bool {
        match plain_tag(tag) {
            (plain, false) => plain == self.0.as_bytes(),
            (plain, true) => self.0.as_bytes().strip_suffix(b"\"") == Some(plain),
        }
    }
}

/// The tags of one line, each with its quotes. A comma inside quotes belongs to its tag.
fn tags(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.trim_ascii_start();
        let start = start.strip_prefix(b"W/").unwrap_or(start);
        let inner = start.strip_prefix(b"\"")?;
        let length = inner.iter().position(|byte| *byte == b'"')? + 2;
        let (tag, after) = start.split_at_checked(length)?;
        let after = after.trim_ascii_start();
        rest = after.strip_prefix(b",").unwrap_or_default();
        Some(tag)
    })
}

#[cfg(test)]
mod tests;
