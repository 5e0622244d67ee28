//! Settings of event streams.

use std::time::Duration;

/// Settings of event streams, for [`AppBuilder::events`](crate::AppBuilder::events).
#[derive(Clone, Debug)]
pub struct Events {
    pub(super) heartbeat: Duration,
    pub(super) read_timeout: Duration,
}

impl Events {
    /// The interval of heartbeats unless another one is set.
    pub const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(15);

    /// Creates settings with the default heartbeat.
    pub fn new() -> Self {
        Self { heartbeat: Self::DEFAULT_HEARTBEAT, read_timeout: Duration::from_secs(10) }
    }

    /// Sets the interval at which a stream sends a comment that keeps its connection alive.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Sets the time limit for reading a record.
    pub(crate) fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
