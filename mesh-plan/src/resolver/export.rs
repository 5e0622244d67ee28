//! The destination of an export.

use std::fmt;

use crate::shape::ExportFormat;
use crate::{BoxFuture, ResolveError};

/// Receives an export piece by piece.
pub trait ExportSink: Send + 'static {
    /// Passes a piece on, and waits until there is room for the next one.
    ///
    /// # Errors
    /// The reader is gone or too slow. The export ends with this error.
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>>;
}

/// The format of an export, and its destination.
pub struct Export {
    /// The format.
    pub format: ExportFormat,
    /// Receives the text.
    pub sink: Box<dyn ExportSink>,
}

impl Export {
    /// Creates an export.
    pub fn new(format: ExportFormat, sink: impl ExportSink) -> Self {
        Self { format, sink: Box::new(sink) }
    }

    /// Passes a piece on, unless it is empty.
    ///
    /// # Errors
    /// Those of [`ExportSink::send`].
    pub async fn send(&mut self, piece: Vec<u8>) -> Result<(), ResolveError> {
        if piece.is_empty() { Ok(()) } else { self.sink.send(piece).await }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("format", &self.format).finish_non_exhaustive()
    }
}
