//! Options of exports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Options of exports, for [`crate::AppBuilder::exports`]. Clones share the limit on concurrent exports, so pass clones of
/// one value to applications that replace each other.
#[derive(Clone, Debug)]
pub struct Exports {
    /// The time limit of an export. An export keeps a snapshot of the database until it ends, however slow its client is.
    pub timeout: Duration,
    /// Permits for concurrent exports.
    pub(crate) permits: Arc<Semaphore>,
}

impl Exports {
    /// The default time limit of an export.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
    /// The default number of exports that may run at a time.
    pub const DEFAULT_AT_ONCE: usize = 16;

    /// Creates options with the number of exports that may run at a time. Each uses a connection to the database, and with
    /// SQLite also a thread.
    pub fn at_once(exports: usize) -> Self {
        let permits = Semaphore::new(exports.clamp(1, Semaphore::MAX_PERMITS));
        Self { timeout: Self::DEFAULT_TIMEOUT, permits: Arc::new(permits) }
    }
}

impl Default for Exports {
    fn default() -> Self {
        Self::at_once(Self::DEFAULT_AT_ONCE)
    }
}
