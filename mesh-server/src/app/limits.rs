//! Limits of the transport.

use std::time::Duration;

/// Limits of the transport, with the protocol's defaults. `SPEC §12.2`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportLimits {
    /// Bytes of the request line and the headers.
    pub header_bytes: usize,
    /// Bytes of a JSON body.
    pub body_bytes: usize,
    /// The time for one request, including the arrival of its body.
    pub request_timeout: Duration,
    /// Total time that the server waits for the data of a body. Each 4 KiB received extends it by one second.
    pub body_timeout: Duration,
}

impl Default for TransportLimits {
    fn default() -> Self {
        Self {
            header_bytes: 32 * 1024,
            body_bytes: 1024 * 1024,
            request_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(15),
        }
    }
}
