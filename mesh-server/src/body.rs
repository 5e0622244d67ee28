//! What is in a reply? Bytes that are there as a whole, or a stream of them.

mod incoming;
mod pace;

use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Frame, SizeHint};

pub(crate) use incoming::Incoming;
pub(crate) use pace::Pace;

/// An error of any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A stream broke off before its end.
#[derive(Debug)]
pub struct BodyError(BoxError);

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reply broke off")
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// The body of a reply. Results and errors are whole; files and events are streams.
pub struct Body(Kind);

enum Kind {
    /// The bytes, until they are taken.
    Whole(Bytes),
    Stream(UnsyncBoxBody<Bytes, BodyError>),
}

impl Body {
    /// A body that comes piece by piece.
    pub fn stream<B>(body: B) -> Self
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Kind::Stream(body.map_err(|error| BodyError(error.into())).boxed_unsync()))
    }

    /// The bytes, where they are there as a whole.
    #[cfg(feature = "compression")]
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Whole(bytes) => Some(bytes),
            Kind::Stream(_) => None,
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(mem::take(bytes))))),
            Kind::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Whole(_) => "Body::Whole",
            Kind::Stream(_) => "Body::Stream",
        })
    }
}
