//! Event streams: a client follows one record, and equal subscriptions share one reading of it. `SPEC §10`

mod heartbeat;
mod hub;
mod shared_reading;
mod subscription;
#[cfg(test)]
mod tests;

pub use self::hub::Events;
pub(crate) use self::hub::{Hub, StillAlive, Watcher};
