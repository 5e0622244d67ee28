//! Sends an event stream over a connection of HTTP/1.1, which serves nothing else from then on. The protocol's
//! implementation would keep 16 KiB of buffers for as long as the stream is open.

use std::future::poll_fn;
use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::time::SystemTime;

use bytes::{Buf, Bytes};
use http::header::{CONNECTION, CONTENT_TYPE, DATE, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Request, Response, Version};
use http_body_util::BodyExt as _;
use mesh_wire::sse;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::reply_body::ReplyBody;
use super::stream::ConnectionStream;
use crate::Body;

/// Returns whether the reply to a request may be an event stream that this module can send.
pub(super) fn can_have_events<B>(request: &Request<B>) -> bool {
    request.version() == Version::HTTP_11 && *request.method() == Method::GET
}

/// Returns whether a reply is an event stream.
pub(super) fn is_event_stream(reply: &Response<Body>) -> bool {
    reply.body().whole().is_none()
        && reply.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == sse::MEDIA_TYPE)
}

/// Sends an event stream to its end, and closes the connection.
///
/// # Errors
/// The client is gone or accepts nothing.
pub(super) async fn send<S>(mut stream: ConnectionStream<S>, mut reply: Response<ReplyBody>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    write(&mut stream, Bytes::from(head(&mut reply)?)).await?;
    let mut body = reply.into_body();
    loop {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            end = wait_for_close(&mut stream) => return end,
        };
        match frame {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                if !data.is_empty() {
                    let size = Bytes::from(format!("{:x}\r\n", data.len()));
                    write(&mut stream, size.chain(data).chain(&b"\r\n"[..])).await?;
                }
            }
            Some(Err(error)) => return Err(io::Error::other(error)),
            None => break,
        }
    }
    write(&mut stream, &b"0\r\n\r\n"[..]).await?;
    // Dropping the body ends the request. Only then is the connection closed.
    drop(body);
    poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await
}

/// Returns the head of a chunked reply after which the connection is closed.
fn head(reply: &mut Response<ReplyBody>) -> io::Result<Vec<u8>> {
    let status = reply.status();
    let headers = reply.headers_mut();
    headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let date = httpdate::fmt_http_date(SystemTime::now());
    headers.insert(DATE, HeaderValue::try_from(date).map_err(io::Error::other)?);
    let mut head = Vec::with_capacity(512);
    write!(head, "HTTP/1.1 {} {}\r\n", status.as_str(), status.canonical_reason().unwrap_or_default())?;
    for (name, value) in &*headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    Ok(head)
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, mut bytes: impl Buf) -> io::Result<()> {
    while bytes.has_remaining() {
        let written = poll_fn(|cx| {
            let mut slices = [IoSlice::new(&[]); 3];
            let count = bytes.chunks_vectored(&mut slices);
            Pin::new(&mut *stream).poll_write_vectored(cx, slices.get(..count).unwrap_or_default())
        });
        match written.await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes.advance(written),
        }
    }
    poll_fn(|cx| Pin::new(&mut *stream).poll_flush(cx)).await
}

/// Waits until the client has closed its side. What it sends is discarded.
async fn wait_for_close<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<()> {
    let received = |stream: &mut S, cx: &mut std::task::Context<'_>| {
        let mut bytes = [0; 256];
        let mut buffer = ReadBuf::new(&mut bytes);
        Pin::new(stream).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
    };
    while poll_fn(|cx| received(stream, cx)).await? > 0 {}
    Ok(())
}
