//! Compression of replies whose bodies are in memory, in the encoding that the client prefers. `SPEC §12.4`

use std::io::{self, Write as _};
use std::sync::Arc;

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
const SMALL: usize = 1024;
/// Larger bodies are compressed on a blocking thread, since they would delay the other requests of this one.
const LARGE: usize = 64 * 1024;

/// Large bodies that are compressed at a time, so that clients cannot use up processors and memory with them.
pub(crate) const MAX_AT_A_TIME: usize = 4;

/// Compresses the body of a reply if the client accepts an encoding and it is worth it. A large body needs a permit.
pub(crate) async fn compress(
    permits: &Arc<Semaphore>,
    request: &HeaderMap,
    mut reply: Response<Body>,
) -> Response<Body> {
    let Some(bytes) = reply.body().whole().filter(|bytes| bytes.len() > SMALL).cloned() else {
        return reply;
    };
    if reply.status() != StatusCode::OK || !is_compressible(reply.headers()) {
        return reply;
    }
    vary(reply.headers_mut());
    let Some(encoding) = Encoding::negotiate(request) else { return reply };
    let encoded = if bytes.len() > LARGE {
        // Rather than wait, which would keep the body in memory, the reply is sent as it is.
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { return reply };
        let encoding = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            encode(encoding, &bytes)
        });
        encoding.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    } else {
        encode(encoding, &bytes)
    };
    match encoded {
        Ok(encoded) => {
            *reply.body_mut() = Body::from(Bytes::from(encoded));
            let fields = reply.headers_mut();
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
            if let Some(tag) = fields.get(ETAG).map(|plain| encoding.tag(plain)) {
                fields.insert(ETAG, tag);
            }
        }
        Err(error) => tracing::warn!("a reply is sent uncompressed: {error}"),
    }
    reply
}

/// Returns whether a body is text that may be compressed. Ranges refer to the stored bytes, so files are not; nor are
/// replies that must not be stored, since a compressed length can reveal a secret.
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

/// The levels are those that cost little more than copying.
fn encode(encoding: Encoding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let output = Vec::with_capacity(bytes.len() / 3);
    match encoding {
        Encoding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(output, flate2::Compression::new(5));
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Encoding::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(output, 4096, 4, 20);
            encoder.write_all(bytes)?;
            encoder.flush()?;
            Ok(encoder.into_inner())
        }
        Encoding::Zstd => Ok(ruzstd::encoding::compress_to_vec(bytes, CompressionLevel::Fastest)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

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
            let request =
                HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static(name))]);
            let reply = compress(&Arc::new(Semaphore::new(1)), &request, reply).await;
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
        let request =
            HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        let json = HeaderValue::from_static("application/json");
        let mut replies = [long(), long(), Response::new(Body::from(Bytes::from(vec![b' '; SMALL])))];
        replies[0].headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
        replies[1].headers_mut().insert(CONTENT_TYPE, json.clone());
        replies[1].headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        replies[2].headers_mut().insert(CONTENT_TYPE, json);
        for reply in replies {
            let reply = compress(&Arc::new(Semaphore::new(1)), &request, reply).await;
            assert!(!reply.headers().contains_key(CONTENT_ENCODING));
        }
    }

    #[tokio::test]
    async fn large_bodies_are_sent_as_they_are_while_too_many_are_compressed() {
        let request =
            HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        let permits = Arc::new(Semaphore::new(1));
        let reply = |size: usize| {
            let mut reply = Response::new(Body::from(Bytes::from(vec![b' '; size])));
            reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            reply
        };
        let taken = permits.try_acquire().unwrap();
        let whole = compress(&permits, &request, reply(LARGE + 1)).await;
        assert!(!whole.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(whole.headers()[VARY], "Accept-Encoding");
        assert_eq!(whole.body().whole().unwrap().len(), LARGE + 1);
        assert!(compress(&permits, &request, reply(LARGE)).await.headers().contains_key(CONTENT_ENCODING));
        drop(taken);
        let encoded = compress(&permits, &request, reply(LARGE + 1)).await;
        assert_eq!(encoded.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(permits.available_permits(), 1);
    }
}
