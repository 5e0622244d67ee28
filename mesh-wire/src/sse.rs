//! Encoding and decoding of server-sent events. `SPEC §10`
//!
//! The protocol has the events `update`, whose data is the body of a read, and `error`, whose data is an error body.
//! Data can never terminate its frame.

mod decode;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use http::{HeaderMap, Response};

pub use decode::{Decoder, Event, EventTooLarge};

use crate::{ErrorBody, RequestHead, headers};

/// The media type of event streams.
pub const MEDIA_TYPE: &str = "text/event-stream";
/// The name of the event that carries a record.
pub const UPDATE: &str = "update";
/// The name of the event that reports a failure.
pub const ERROR: &str = "error";
/// The default delay before a client reconnects, in milliseconds.
pub const RETRY_MILLIS: u32 = 2_000;
/// The request header with the id of the last event that the client received.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Disables response buffering in proxies.
static UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Builds the head of a stream's reply.
pub fn head(request: &RequestHead<'_>) -> Response<()> {
    let mut reply = Response::new(());
    let fields = reply.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    fields.insert(VARY, HeaderValue::from_static(headers::VARY));
    fields.insert(&UNBUFFERED, HeaderValue::from_static("no"));
    fields.insert(&headers::REQUEST_ID, request.request_id.value());
    reply
}

/// Returns the id of the last event that the client received, if it is text.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok())
}

/// Computes the id of an update from its data; equal on all servers.
pub fn id(data: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, data);
    HEXLOWER.encode(digest.as_ref().get(..16).unwrap_or_default())
}

/// Encodes an event with a record and its id.
pub fn update(id: &str, data: &[u8]) -> Bytes {
    frame(UPDATE, Some(id), data)
}

/// Encodes an event that reports a failure. It has no id, so the client's last event id does not change.
#[expect(clippy::expect_used, reason = "strings and integers always have a JSON text")]
pub fn error(body: &ErrorBody) -> Bytes {
    frame(ERROR, None, &serde_json::to_vec(body).expect("plain data"))
}

/// Encodes the delay before the client reconnects, in milliseconds.
pub fn retry(millis: u32) -> Bytes {
    format!("retry: {millis}\n\n").into()
}

/// Encodes a comment, which keeps the connection alive.
pub fn heartbeat() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// Encodes one event. A line break in the data starts another `data` line. Clients join these by line feeds, which is
/// equivalent in JSON.
fn frame(event: &str, id: Option<&str>, data: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(data.len() + 80);
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(event.as_bytes());
    if let Some(id) = id {
        out.extend_from_slice(b"\nid: ");
        // Line breaks would end the line, and clients ignore ids with NUL.
        out.extend(id.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)));
    }
    let mut rest = data;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        out.extend_from_slice(b"\ndata: ");
        out.extend_from_slice(line);
        match after.strip_prefix(b"\r\n").or_else(|| after.get(1..)) {
            Some(next) => rest = next,
            None => break,
        }
    }
    out.extend_from_slice(b"\n\n");
    out.into()
}

#[cfg(test)]
mod tests;
