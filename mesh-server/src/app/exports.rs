//! Options of exports.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Options of exports, for [`crate::AppBuilder::exports`]. Clones share the number of exports at a time, so pass clones of
/// one value to applications that replace each other.
#[derive(Clone, Debug)]
pub struct Exports {
    pub(crate) timeout: Duration,
    /// Permits of the exports that may run at a time.
    pub(crate) permits: Arc<Semaphore>,
}

impl Exports {
    /// The time for an export unless another is set.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
    /// The exports at a time unless another number is set.
    pub const DEFAULT_AT_ONCE: usize = 16;

    /// Creates the default options.
    pub fn new() -> Self {
        Self { timeout: Self::DEFAULT_TIMEOUT, permits: Arc::new(Semaphore::new(Self::DEFAULT_AT_ONCE)) }
    }

    /// Sets the time for an export. Until it ends, a snapshot of the database is kept for it, however slow its client is.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many exports may run at a time. Each has a connection to the database, and in SQLite a thread.
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
