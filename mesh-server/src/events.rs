//! Event streams: a client follows a record or a list, and equal subscriptions share one reading of it. `SPEC §10`
//!
//! The [`Hub`] starts listening for changes before the first reading, so no change in between is lost. A change that can
//! affect a subscription causes a new reading, and subscriptions send its result when their client accepts more data. Only
//! the newest result is kept, so a slow client skips results and delays no other client.

mod hub;
mod registry;
mod sessions;
mod shared_reading;
mod subscription;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use self::hub::{Hub, Subscriber};
pub(crate) use self::sessions::SessionCheck;

/// Settings of event streams, for [`AppOptions::events`](crate::AppOptions::events).
#[derive(Clone, Debug)]
pub struct Events {
    /// The interval at which a stream sends a comment that keeps its connection alive, 15 seconds by default.
    pub heartbeat: Duration,
}

impl Default for Events {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(15) }
    }
}
