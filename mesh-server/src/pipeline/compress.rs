//! Is the reply smaller on the line than in memory? Bodies that are whole, packed as the client likes it.
//! `SPEC §12.4`

use std::io::{self, Write as _};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, VARY,
};
use http::{Response, StatusCode};
use mesh_wire::{Encoding, headers};
use ruzstd::encoding::CompressionLevel;

use crate::body::Body;

/// Bodies up to this size go out as they are: they fit into a packet anyway.
const SMALL: usize = 1024;
/// Packing more than this would hold up the other requests of a thread, so it has a thread of its own.
const LONG: usize = 64 * 1024;

/// The same reply, packed where that is wanted and worth it; an error where packing takes long.
pub(crate) fn pack(asked: &HeaderMap, mut reply: Response<Body>) -> Result<Response<Body>, Box<Long>> {
    let Some(bytes) = reply.body().whole().filter(|bytes| bytes.len() > SMALL).cloned() else {
        return Ok(reply);
    };
    let wanted = Encoding::negotiate(asked);
    // Of a read whose client takes no encoding nothing more has to be found out.
    if wanted.is_none() && reply.headers().get(VARY).is_some_and(|vary| *vary == headers::VARY) {
        return Ok(reply);
    }
    if reply.status() != StatusCode::OK || !is_text(reply.headers()) {
        return Ok(reply);
    }
    vary(reply.headers_mut());
    let Some(encoding) = wanted else { return Ok(reply) };
    if bytes.len() > LONG {
        return Err(Box::new(Long { reply, encoding, bytes }));
    }
    Ok(with_packed(reply, encoding, encode(encoding, &bytes)))
}

/// A reply that is yet to be packed.
pub(crate) struct Long {
    reply: Response<Body>,
    encoding: Encoding,
    bytes: Bytes,
}

impl Long {
    /// The reply, packed on another thread.
    pub(crate) async fn pack(self: Box<Self>) -> Response<Body> {
        let Self { reply, encoding, bytes } = *self;
        let packed = tokio::task::spawn_blocking(move || encode(encoding, &bytes)).await;
        with_packed(reply, encoding, packed.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

fn with_packed(mut reply: Response<Body>, encoding: Encoding, packed: io::Result<Vec<u8>>) -> Response<Body> {
    match packed {
        Ok(packed) => {
            *reply.body_mut() = Body::from(Bytes::from(packed));
            let fields = reply.headers_mut();
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
            if let Some(tag) = fields.get(ETAG).map(|plain| encoding.tag(plain)) {
                fields.insert(ETAG, tag);
            }
        }
        // The reply as it is will do.
        Err(error) => tracing::warn!("cannot pack a reply: {error}"),
    }
    reply
}

/// Whether packing helps, and nothing speaks against it: parts of a file are parts of what is stored, and
/// what must not be stored may hold what must not be guessed by its length.
fn is_text(fields: &HeaderMap) -> bool {
    let text =
        |name| fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let kind = text(CONTENT_TYPE);
    let packable = ["application/json", "text/html", "text/css", "text/javascript", "image/svg+xml"];
    packable.iter().any(|known| kind.starts_with(known))
        && !fields.contains_key(CONTENT_ENCODING)
        && !fields.contains_key(ACCEPT_RANGES)
        && !text(CACHE_CONTROL).contains("no-store")
}

/// Says that another client may get the reply in another form.
fn vary(fields: &mut HeaderMap) {
    let said = fields
        .get_all(VARY)
        .iter()
        .any(|line| line.to_str().is_ok_and(|line| line.contains("Accept-Encoding")));
    if !said {
        fields.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// Levels at which packing costs little more than writing.
fn encode(encoding: Encoding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let room = Vec::with_capacity(bytes.len() / 3);
    match encoding {
        Encoding::Gzip => {
            let mut packer = flate2::write::GzEncoder::new(room, flate2::Compression::new(5));
            packer.write_all(bytes)?;
            packer.finish()
        }
        Encoding::Brotli => {
            let mut packer = brotli::CompressorWriter::new(room, 4096, 4, 20);
            packer.write_all(bytes)?;
            packer.flush()?;
            Ok(packer.into_inner())
        }
        Encoding::Zstd => Ok(ruzstd::encoding::compress_to_vec(bytes, CompressionLevel::Fastest)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[tokio::test]
    async fn what_comes_out_is_what_went_in() {
        let text: Bytes = (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",").into();
        for (name, size) in
            [("gzip", 10_000), ("br", 10_000), ("zstd", 10_000), ("gzip", 100_000), ("br", 100_000)]
        {
            let body = text.slice(..size);
            let mut reply = Response::new(Body::from(body.clone()));
            reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            reply.headers_mut().insert(ETAG, HeaderValue::from_static("\"t\""));
            let asked =
                HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static(name))]);
            let reply = match pack(&asked, reply) {
                Ok(reply) => reply,
                Err(long) => long.pack().await,
            };
            assert_eq!(reply.headers()[CONTENT_ENCODING], name);
            assert_eq!(reply.headers()[ETAG], format!("\"t-{name}\""));
            assert_eq!(reply.headers()[VARY], "Accept-Encoding");
            let packed = reply.body().whole().unwrap();
            assert!(packed.len() < size / 2, "{name}: {}", packed.len());
            let mut unpacked = Vec::new();
            match name {
                "gzip" => flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap(),
                "br" => brotli::Decompressor::new(&packed[..], 4096).read_to_end(&mut unpacked).unwrap(),
                _ => ruzstd::decoding::StreamingDecoder::new(&packed[..])
                    .unwrap()
                    .read_to_end(&mut unpacked)
                    .unwrap(),
            };
            assert_eq!(unpacked, body, "{name}");
        }
    }

    #[test]
    fn what_is_small_or_secret_or_no_text_is_left_alone() {
        let long = || Response::new(Body::from(Bytes::from(vec![b' '; 5000])));
        let asked = HeaderMap::from_iter([(http::header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        let json = HeaderValue::from_static("application/json");
        let mut replies = [long(), long(), Response::new(Body::from(Bytes::from(vec![b' '; SMALL])))];
        replies[0].headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
        replies[1].headers_mut().insert(CONTENT_TYPE, json.clone());
        replies[1].headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        replies[2].headers_mut().insert(CONTENT_TYPE, json);
        for reply in replies {
            assert!(pack(&asked, reply).is_ok_and(|reply| !reply.headers().contains_key(CONTENT_ENCODING)));
        }
    }
}
