//! Server-sent events: writing and reading of frames. `SPEC §10`
//!
//! The events of this protocol are `update`, whose data is a read's body, and `error`, whose data is an error
//! body. Whatever stands in the data, a frame stays one frame.

mod decode;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use http::{HeaderMap, Response};

pub use decode::{Decoder, Event, EventTooLarge};

use crate::{ErrorBody, RequestHead, headers};

/// The media type of a stream.
pub const MEDIA_TYPE: &str = "text/event-stream";
/// The event of a record's content.
pub const UPDATE: &str = "update";
/// The event of a failure.
pub const ERROR: &str = "error";
/// Milliseconds after which a client connects again.
pub const RETRY_MILLIS: u32 = 2_000;
/// The header in which a client says which event it has seen last.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Tells proxies that gather replies to pass each part on as it comes.
static UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The head of a stream's reply.
pub fn head(asked: &RequestHead<'_>) -> Response<()> {
    let mut reply = Response::new(());
    let fields = reply.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    fields.insert(VARY, HeaderValue::from_static(headers::VARY));
    fields.insert(&UNBUFFERED, HeaderValue::from_static("no"));
    fields.insert(&headers::REQUEST_ID, asked.request_id.value());
    reply
}

/// What the client has seen last, as it says. A text that cannot be an id of this protocol is none.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok())
}

/// The id of an update: the same for the same data, on every server.
pub fn id(data: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, data);
    HEXLOWER.encode(digest.as_ref().get(..16).unwrap_or_default())
}

/// The event of a record's content, under its id.
pub fn update(id: &str, data: &[u8]) -> Bytes {
    frame(UPDATE, Some(id), data)
}

/// The event of a failure. It has no id: what the client has seen last stays what it is.
#[expect(clippy::expect_used, reason = "strings and integers always have a JSON text")]
pub fn error(body: &ErrorBody) -> Bytes {
    frame(ERROR, None, &serde_json::to_vec(body).expect("plain data"))
}

/// Tells the client after how many milliseconds to connect again.
pub fn retry(millis: u32) -> Bytes {
    format!("retry: {millis}\n\n").into()
}

/// A comment, which says that the stream is alive and nothing else.
pub fn heartbeat() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// One event. A line break in the data, of whichever kind, begins another line of data; clients put a line
/// feed there, which in JSON means the same.
fn frame(event: &str, id: Option<&str>, data: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(data.len() + 80);
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(event.as_bytes());
    if let Some(id) = id {
        out.extend_from_slice(b"\nid: ");
        // A line break or NUL in an id would change what the frame says.
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
