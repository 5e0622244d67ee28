//! The timeouts of a connection.

use std::time::Duration;

/// How long a server waits for a client in each state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit for the TLS handshake.
    pub handshake: Duration,
    /// Limit for a request head, counted from its first byte. For the first request, counted from the start of the
    /// connection.
    pub head: Duration,
    /// Limit for the pause between two requests.
    pub idle: Duration,
    /// Limit for a pause in which the client accepts no bytes of a reply.
    pub write: Duration,
    /// Interval between HTTP/2 pings.
    pub ping: Duration,
    /// Limit for the reply to an HTTP/2 ping.
    pub pong: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            write: Duration::from_secs(30),
            ping: Duration::from_secs(20),
            pong: Duration::from_secs(20),
        }
    }
}
