//! Who counts attempts to log in where several servers must agree on their number?

use mesh_integrity::{BoxFuture, StoreError};

/// What one account, one address or the two together may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Stands for account and address, the same on all servers.
    pub key: [u8; 16],
    /// One attempt is paid off after so many milliseconds.
    pub interval: u64,
}

/// Counts attempts to log in where all servers of a deployment see them.
///
/// Of each share it keeps the time at which all its attempts will have been paid off, which may lie a minute ahead
/// and no further.
pub trait AttemptStore: Send + Sync + 'static {
    /// Counts an attempt for each share. Where one of them has had its part none is counted, and the answer is
    /// after how many milliseconds to try again.
    fn begin(&self, shares: [Share; 3]) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;

    /// Counts the attempt no more.
    fn forget(&self, shares: [Share; 3]) -> BoxFuture<'_, Result<(), StoreError>>;
}
