//! Compression of replies whose bodies are in memory, in the encoding that the client prefers. `SPEC §12.4`

use std::io::{self, Read, Write as _};
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, VARY,
};
use http::{Response, StatusCode};
use mesh_wire::Encoding;
use ruzstd::encoding::CompressionLevel;
use tokio::sync::Semaphore;

use crate::pipeline::body::Body;

/// Bodies up to this size fit into a packet and are sent uncompressed.
const MAX_UNCOMPRESSED_BYTES: usize = 1024;
/// Larger bodies are compressed on a blocking thread, because they would delay the other requests on this thread.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// The maximum number of bytes compressed between two checks of the deadline, about a millisecond of work.
const PIECE: usize = 64 * 1024;

/// The maximum number of large bodies compressed at a time, so that clients cannot exhaust processors and memory.
pub(crate) const MAX_AT_A_TIME: usize = 4;

/// Compresses the body of a reply if the client accepts an encoding and compression is worthwhile. A large body needs a
/// permit. If no permit is free, or the body is not compressed by the deadline, it is sent uncompressed. If the future
/// is dropped, compression stops.
pub(crate) async fn compress(
    permits: &Arc<Semaphore>,
    request: &HeaderMap,
    deadline: Instant,
    mut reply: Response<Body>,
) -> Response<Body> {
    let Some(bytes) = reply.body().whole().filter(|bytes| bytes.len() > MAX_UNCOMPRESSED_BYTES).cloned()
    else {
        return reply;
    };
    if reply.status() != StatusCode::OK || !is_compressible(reply.headers()) {
        return reply;
    }
    vary(reply.headers_mut());
    let Some(encoding) = Encoding::negotiate(request) else { return reply };
    let encoded = if let Some(stored) = stored(&reply, encoding) {
        Ok(stored)
    } else if bytes.len() > MAX_INLINE_BYTES {
        // The reply is sent uncompressed, because waiting for a permit would keep the body in memory.
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { return reply };
        let awaited = Arc::new(());
        let limits = Limits { deadline, awaited: Arc::downgrade(&awaited) };
        let encoding = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            encode(encoding, &bytes, Some(limits))
        });
        encoding.await.unwrap_or_else(|error| Err(io::Error::other(error))).map(Bytes::from)
    } else {
        encode(encoding, &bytes, None).map(Bytes::from)
    };
    match encoded {
        Ok(encoded) => {
            *reply.body_mut() = Body::from(encoded);
            let fields = reply.headers_mut();
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.as_str()));
            if let Some(tag) = fields.get(ETAG).map(|plain| encoding.tag(plain)) {
                fields.insert(ETAG, tag);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            tracing::debug!("a reply is sent uncompressed: {error}");
        }
        Err(error) => tracing::warn!("a reply is sent uncompressed: {error}"),
    }
    reply
}

/// Returns the body that was compressed at build time, if there is one.
fn stored(reply: &Response<Body>, encoding: Encoding) -> Option<Bytes> {
    let compressed = reply.extensions().get::<mesh_docs::Compressed>()?;
    match encoding {
        Encoding::Gzip => Some(Bytes::from_static(compressed.gzip)),
        Encoding::Brotli => Some(Bytes::from_static(compressed.brotli)),
        Encoding::Zstd => None,
    }
}

/// Returns whether a body is text that may be compressed. Files are not compressed, because ranges refer to the stored
/// bytes. Replies that must not be stored are not compressed, because a compressed length can reveal a secret.
fn is_compressible(fields: &HeaderMap) -> bool {
    let text =
        |name| fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let kind = text(CONTENT_TYPE);
    let text_types = ["application/json", "text/html", "text/css", "text/javascript", "image/svg+xml"];
    text_types.iter().any(|known| kind.starts_with(known))
        && !fields.contains_key(CONTENT_ENCODING)
        && !fields.contains_key(ACCEPT_RANGES)
        && !text(CACHE_CONTROL).contains("no-store")
}

/// Adds `Accept-Encoding` to `Vary`.
fn vary(fields: &mut HeaderMap) {
    let listed = fields
        .get_all(VARY)
        .iter()
        .any(|line| line.to_str().is_ok_and(|line| line.contains("Accept-Encoding")));
    if !listed {
        fields.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// The conditions under which compression stops early.
struct Limits {
    deadline: Instant,
    /// Its value is dropped when the result is no longer awaited.
    awaited: Weak<()>,
}

impl Limits {
    fn is_reached(&self) -> bool {
        self.awaited.strong_count() == 0 || Instant::now() >= self.deadline
    }
}

/// A reader that returns the bytes of a body in pieces, until a limit is reached. It ends early instead of failing,
/// because not every encoder can return an error.
struct Source<'b> {
    rest: &'b [u8],
    limits: Option<Limits>,
    stopped: bool,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stopped |= !self.rest.is_empty() && self.limits.as_ref().is_some_and(Limits::is_reached);
        if self.stopped {
            return Ok(0);
        }
        let end = buffer.len().min(PIECE);
        self.rest.read(buffer.get_mut(..end).unwrap_or_default())
    }
}

/// Compresses a body, at levels that cost little more than copying.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if the limits are reached first.
fn encode(encoding: Encoding, bytes: &[u8], limits: Option<Limits>) -> io::Result<Vec<u8>> {
    let mut source = Source { rest: bytes, limits, stopped: false };
    let mut output = Vec::with_capacity(bytes.len() / 3);
    match encoding {
        Encoding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(&mut output, flate2::Compression::new(5));
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?;
        }
        Encoding::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(&mut output, 4096, 4, 20);
            io::copy(&mut source, &mut encoder)?;
            encoder.flush()?;
            drop(encoder);
        }
        Encoding::Zstd => ruzstd::encoding::compress(&mut source, &mut output, CompressionLevel::Fastest),
    }
    if source.stopped {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the time of the request is over"));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns a deadline that no test reaches.
    fn later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    fn json(size: usize) -> Response<Body> {
        let mut reply = Response::new(Body::from(Bytes::from(vec![b' '; size])));
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        reply
    }

    fn accept(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static(encoding))])
    }

    #[tokio::test]
    async fn body_that_was_compressed_at_build_time_is_sent_as_it_is() {
        for (name, expected) in [("gzip", "g"), ("br", "b")] {
            let mut reply = json(100_000);
            reply.extensions_mut().insert(mesh_docs::Compressed { gzip: b"g", brotli: b"b" });
            let reply = compress(&Arc::new(Semaphore::new(0)), &accept(name), later(), reply).await;
            assert_eq!(reply.headers()[CONTENT_ENCODING], name);
            assert_eq!(reply.body().whole().unwrap(), expected.as_bytes());
        }
    }

    #[tokio::test]
    async fn decompressed_bodies_are_equal_to_the_original() {
        let text: Bytes = (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",").into();
        for (name, size) in
            [("gzip", 10_000), ("br", 10_000), ("zstd", 10_000), ("gzip", 100_000), ("br", 100_000)]
        {
            let body = text.slice(..size);
            let mut reply = Response::new(Body::from(body.clone()));
            reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            reply.headers_mut().insert(ETAG, HeaderValue::from_static("\"t\""));
            let request = accept(name);
            let reply = compress(&Arc::new(Semaphore::new(1)), &request, later(), reply).await;
            assert_eq!(reply.headers()[CONTENT_ENCODING], name);
            assert_eq!(reply.headers()[ETAG], format!("\"t-{name}\""));
            assert_eq!(reply.headers()[VARY], "Accept-Encoding");
            let encoded = reply.body().whole().unwrap();
            assert!(encoded.len() < size / 2, "{name}: {}", encoded.len());
            let mut decoded = Vec::new();
            match name {
                "gzip" => flate2::read::GzDecoder::new(&encoded[..]).read_to_end(&mut decoded).unwrap(),
                "br" => brotli::Decompressor::new(&encoded[..], 4096).read_to_end(&mut decoded).unwrap(),
                _ => ruzstd::decoding::StreamingDecoder::new(&encoded[..])
                    .unwrap()
                    .read_to_end(&mut decoded)
                    .unwrap(),
            };
            assert_eq!(decoded, body, "{name}");
        }
    }

    #[tokio::test]
    async fn small_bodies_secrets_and_binary_types_are_not_compressed() {
        let long = || Response::new(Body::from(Bytes::from(vec![b' '; 5000])));
        let request = accept("gzip");
        let json = HeaderValue::from_static("application/json");
        let mut replies =
            [long(), long(), Response::new(Body::from(Bytes::from(vec![b' '; MAX_UNCOMPRESSED_BYTES])))];
        replies[0].headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
        replies[1].headers_mut().insert(CONTENT_TYPE, json.clone());
        replies[1].headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        replies[2].headers_mut().insert(CONTENT_TYPE, json);
        for reply in replies {
            let reply = compress(&Arc::new(Semaphore::new(1)), &request, later(), reply).await;
            assert!(!reply.headers().contains_key(CONTENT_ENCODING));
        }
    }

    #[tokio::test]
    async fn large_bodies_are_sent_as_they_are_while_too_many_are_compressed() {
        let request = accept("gzip");
        let permits = Arc::new(Semaphore::new(1));
        let taken = permits.try_acquire().unwrap();
        let whole = compress(&permits, &request, later(), json(MAX_INLINE_BYTES + 1)).await;
        assert!(!whole.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(whole.headers()[VARY], "Accept-Encoding");
        assert_eq!(whole.body().whole().unwrap().len(), MAX_INLINE_BYTES + 1);
        assert!(
            compress(&permits, &request, later(), json(MAX_INLINE_BYTES))
                .await
                .headers()
                .contains_key(CONTENT_ENCODING)
        );
        drop(taken);
        let encoded = compress(&permits, &request, later(), json(MAX_INLINE_BYTES + 1)).await;
        assert_eq!(encoded.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(permits.available_permits(), 1);
    }

    #[tokio::test]
    async fn large_bodies_are_sent_as_they_are_at_the_deadline() {
        let permits = Arc::new(Semaphore::new(1));
        for encoding in ["gzip", "br", "zstd"] {
            let request = accept(encoding);
            let whole = compress(&permits, &request, Instant::now(), json(MAX_INLINE_BYTES + 1)).await;
            assert!(!whole.headers().contains_key(CONTENT_ENCODING), "{encoding}");
            assert_eq!(whole.body().whole().unwrap().len(), MAX_INLINE_BYTES + 1);
            assert_eq!(permits.available_permits(), 1);
        }
    }

    #[test]
    fn compression_stops_at_its_limits() {
        let bytes = vec![b' '; 10 * PIECE];
        let awaited = Arc::new(());
        for encoding in [Encoding::Gzip, Encoding::Brotli, Encoding::Zstd] {
            let limits = |deadline| Some(Limits { deadline, awaited: Arc::downgrade(&awaited) });
            assert!(encode(encoding, &bytes, limits(later())).is_ok());
            let error = encode(encoding, &bytes, limits(Instant::now())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            let error = encode(encoding, &bytes, Some(Limits { deadline: later(), awaited: Weak::new() }))
                .unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        // The limits are checked before every piece, including the last one.
        let mut buffer = vec![0; bytes.len()];
        let mut source = Source {
            rest: &bytes,
            limits: Some(Limits { deadline: later(), awaited: Arc::downgrade(&awaited) }),
            stopped: false,
        };
        for _ in 0..9 {
            assert_eq!(source.read(&mut buffer).unwrap(), PIECE);
        }
        drop(awaited);
        assert_eq!(source.read(&mut buffer).unwrap(), 0);
        assert!(source.stopped);
        let mut whole = Source { rest: &bytes, limits: None, stopped: false };
        assert_eq!(io::copy(&mut whole, &mut io::sink()).unwrap(), bytes.len() as u64);
        assert!(!whole.stopped);
    }
}
