//! The time after which a refused client should try again.

use super::{ErrorKind, WireError};

impl WireError {
    /// Seconds after which a client should repeat a request that exceeded its share, or that cannot be served now.
    pub const RETRY_AFTER: u32 = 1;

    /// Creates a 429: too many requests. Clients should retry after `retry_after` seconds.
    pub fn rate_limit(retry_after: u32) -> Self {
        let message = "Too many requests; retry after the time in Retry-After";
        Self { retry_after: Some(retry_after), ..Self::new(ErrorKind::RateLimit, message) }
    }

    /// Creates a 503: the server is busy or stopping. Clients should retry after [`WireError::RETRY_AFTER`] seconds.
    pub fn unavailable() -> Self {
        let message = "The server is busy or stopping; retry after the time in Retry-After";
        Self { retry_after: Some(Self::RETRY_AFTER), ..Self::new(ErrorKind::Unavailable, message) }
    }
}
