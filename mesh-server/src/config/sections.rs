//! The sections of the settings file.

pub(super) mod database;
pub(super) mod docs;
pub(super) mod integrity;
pub(super) mod limits;
pub(super) mod network;
pub(super) mod persisted;
pub(super) mod uploads;

#[cfg(test)]
mod tests;
