//! Bodies of replies, which are bytes in memory or streams, and of requests.

mod pace;
mod request;

use std::error::Error;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Frame, SizeHint};

pub use pace::Pace;
pub(crate) use request::RequestBody;

/// An error of any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a reply: bytes for results and errors, a stream for files and events.
pub struct Body(Kind);

enum Kind {
    Bytes(Bytes),
    Stream(UnsyncBoxBody<Bytes, BoxError>),
}

impl Body {
    /// Creates a body from a stream of frames.
    pub fn stream<B>(body: B) -> Self
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Kind::Stream(body.map_err(Into::into).boxed_unsync()))
    }

    /// Keeps a value until the body is sent or dropped.
    pub(crate) fn until_sent<T: Send + 'static>(self, value: T) -> Self {
        match self.0 {
            Kind::Bytes(bytes) => Self::from(Bytes::from_owner(BytesWith { bytes, _value: value })),
            Kind::Stream(body) => Self::stream(body.map_err(move |error| {
                let _value = &value;
                error
            })),
        }
    }

    /// Returns the bytes of a body that is in memory.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Bytes(bytes) => Some(bytes),
            Kind::Stream(_) => None,
        }
    }
}

/// Bytes with a value that is dropped with them.
struct BytesWith<T> {
    bytes: Bytes,
    _value: T,
}

impl<T> AsRef<[u8]> for BytesWith<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Bytes(bytes))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().0 {
            Kind::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(mem::take(bytes))))),
            Kind::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}

opaque_debug!(Body);
