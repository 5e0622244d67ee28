//! Options of exports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Options of exports, for [`crate::AppBuilder::exports`]. Clones share the limit on concurrent exports, so pass clones of
/// one value to applications that replace each other.
#[derive(Clone, Debug)]
pub struct Exports {
    pub(crate) timeout: Duration,
    /// Permits for concurrent exports.
    pub(crate) permits: Arc<Semaphore>,
}

impl Exports {
    /// The default time limit of an export.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
    /// The default number of exports that may run at a time.
    pub const DEFAULT_AT_ONCE: usize = 16;

    /// Creates the default options.
    pub fn new() -> Self {
        Self { timeout: Self::DEFAULT_TIMEOUT, permits: Arc::new(Semaphore::new(Self::DEFAULT_AT_ONCE)) }
    }

    /// Sets the time limit of an export. An export keeps a snapshot of the database until it ends, however slow its client is.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many exports may run at a time. Each uses a connection to the database, and with SQLite also a thread.
    #[must_use]
    pub fn at_once(mut self, exports: usize) -> Self {
        self.permits = Arc::new(Semaphore::new(exports.clamp(1, Semaphore::MAX_PERMITS)));
        self
    }
}

impl Default for Exports {
    fn default() -> Self {
        Self::new()
    }
}
