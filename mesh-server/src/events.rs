//! Event streams: a client follows one record, and equal subscriptions share one reading of it. `SPEC §10`
//!
//! The [`Hub`] starts listening for changes before the first reading, so no change in between is lost. A change that can
//! affect a record causes a new reading, and subscriptions send its result when their client accepts more data. Only the
//! newest result is kept, so a slow client skips results and delays no other client.

mod hub;
mod registry;
mod sessions;
mod settings;
mod shared_reading;
mod subscription;
#[cfg(test)]
mod tests;

pub(crate) use self::hub::{Hub, Subscriber};
pub(crate) use self::sessions::SessionCheck;
pub use self::settings::Events;
