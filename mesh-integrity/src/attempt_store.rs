//! Login attempt counters that are shared by several servers.

use crate::{BoxFuture, StoreError};

/// A counter of login attempts: one per account, per address, or per pair of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptKey {
    /// A digest of account and address; equal on all servers.
    pub key: [u8; 16],
    /// The interval at which attempts are allowed indefinitely, in milliseconds.
    pub interval: u64,
}

/// Counts login attempts for all servers of a deployment.
///
/// For each key, a store keeps the time at which all counted attempts will have expired. One attempt expires per
/// interval. The time is at most one minute ahead.
pub trait AttemptStore: Send + Sync + 'static {
    /// Counts an attempt under each key. If one of the keys has reached its limit, counts nothing and returns the
    /// number of milliseconds after which to try again.
    fn begin(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;

    /// Reverts an attempt that [`begin`](Self::begin) counted.
    fn forget(&self, keys: [AttemptKey; 3]) -> BoxFuture<'_, Result<(), StoreError>>;
}
