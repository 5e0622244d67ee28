//! One struct for each section of the settings file.

pub(super) mod admin;
pub(super) mod core_limits;
pub(super) mod features;
pub(super) mod observability;
pub(super) mod postgres;
pub(super) mod rate_limits;
pub(super) mod sqlite;
pub(super) mod tls;

#[cfg(test)]
mod tests;
