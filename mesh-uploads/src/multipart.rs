//! Multipart parsing with limits. multer finds the boundaries, but limits neither how far it reads ahead nor the
//! length of a part's headers, so both are limited here.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};

use crate::error::{BoxError, MultipartError, UploadError};
use crate::policy::UploadLimits;

/// The maximum number of bytes that are passed to multer at once.
const CHUNK: usize = 64 * 1024;
/// The maximum number of characters of an unknown part's name that are sent back to the client.
const MAX_SHOWN_NAME: usize = 40;

/// A request's body.
pub(crate) type Body<'b> = BoxStream<'b, Result<Bytes, BoxError>>;

/// Parses the boundary of a `Content-Type`, which must be `multipart/form-data`.
pub(crate) fn boundary_of(content_type: &str, bounds: &UploadLimits) -> Result<String, MultipartError> {
    let limit = bounds.boundary_bytes;
    match multer::parse_boundary(content_type) {
        Ok(boundary) if !boundary.is_empty() && boundary.len() <= limit => Ok(boundary),
        Err(multer::Error::NoMultipart) => Err(MultipartError::NotForm),
        _ => Err(MultipartError::Boundary { limit }),
    }
}

/// The parts of a body, in order.
pub(crate) struct Parts<'b> {
    multer: multer::Multipart<'b>,
    window: Window,
    bounds: UploadLimits,
}

impl<'b> Parts<'b> {
    pub(crate) fn new<'body: 'b>(body: &'b mut Body<'body>, boundary: String, bounds: UploadLimits) -> Self {
        let window = Window::default();
        let metered = Metered { body, window: window.clone(), rest: Bytes::new(), paused: false };
        Self { multer: multer::Multipart::new(metered, boundary), window, bounds }
    }

    /// Reads the headers of the next part. Returns `None` after the last boundary.
    pub(crate) async fn next(&mut self) -> Result<Option<Part<'b>>, UploadError> {
        self.window.narrow(self.bounds.header_bytes);
        let next = self.multer.next_field().await;
        self.window.widen();
        let limit = self.bounds.header_bytes;
        let field = match next {
            Ok(Some(field)) => field,
            Ok(None) => return Ok(None),
            Err(error) => return Err(failure(error, limit)),
        };
        // The window does not count headers in the same chunk as the end of the previous part.
        let length: usize =
            field.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if length > limit {
            return Err(MultipartError::Headers { limit }.into());
        }
        Ok(Some(Part { field, limit }))
    }
}

/// A part, which must be read before the next one.
pub(crate) struct Part<'b> {
    field: multer::Field<'b>,
    limit: usize,
}

impl Part<'_> {
    pub(crate) fn name(&self) -> &str {
        self.field.name().unwrap_or_default()
    }

    /// Returns the name for error messages, escaped and truncated.
    pub(crate) fn shown_name(&self) -> String {
        self.name().chars().take(MAX_SHOWN_NAME).flat_map(char::escape_debug).collect()
    }

    /// Returns the declared type. A type that is not text is returned as an empty string, which is refused.
    pub(crate) fn content_type(&self) -> Option<&str> {
        self.field.headers().get("content-type").map(|value| value.to_str().unwrap_or_default())
    }

    /// Reads the next bytes.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, UploadError> {
        self.field.chunk().await.map_err(|error| failure(error, self.limit))
    }
}

/// Reads the rest of the body after the last boundary, which must be short. Without this the connection could not be
/// reused, and a truncated body would appear complete.
pub(crate) async fn finish(body: &mut Body<'_>, bounds: &UploadLimits) -> Result<(), UploadError> {
    let limit = bounds.trailer_bytes;
    let mut left = limit;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(UploadError::Body)?;
        left = left.checked_sub(chunk.len()).ok_or(MultipartError::Trailer { limit })?;
    }
    Ok(())
}

fn failure(error: multer::Error, limit: usize) -> UploadError {
    match error {
        multer::Error::StreamReadFailed(error) if error.is::<WindowClosed>() => {
            MultipartError::Headers { limit }.into()
        }
        multer::Error::StreamReadFailed(error) => UploadError::Body(error),
        _ => MultipartError::Broken.into(),
    }
}

/// The number of bytes within which the headers of a part must end.
#[derive(Clone)]
struct Window(Arc<AtomicUsize>);

impl Default for Window {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(usize::MAX)))
    }
}

impl Window {
    fn narrow(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    fn widen(&self) {
        self.narrow(usize::MAX);
    }

    /// Takes up to `wanted` bytes from the window, and returns their number.
    fn take(&self, wanted: usize) -> usize {
        let open = self.0.load(Ordering::Relaxed);
        let taken = wanted.min(open);
        if open != usize::MAX {
            self.narrow(open - taken);
        }
        taken
    }
}

#[derive(Debug)]
struct WindowClosed;

impl fmt::Display for WindowClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the headers of a part are too long")
    }
}

impl std::error::Error for WindowClosed {}

/// A body that returns `Pending` after each chunk. multer reads as long as the stream is ready, and would otherwise buffer
/// all of a body that is always ready.
struct Metered<'b, 'body> {
    body: &'b mut Body<'body>,
    window: Window,
    rest: Bytes,
    paused: bool,
}

impl Stream for Metered<'_, '_> {
    type Item = Result<Bytes, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.paused) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while self.rest.is_empty() {
            match self.body.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(chunk))) => self.rest = chunk,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
        let length = self.window.take(self.rest.len().min(CHUNK));
        if length == 0 {
            return Poll::Ready(Some(Err(WindowClosed.into())));
        }
        self.paused = true;
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}
