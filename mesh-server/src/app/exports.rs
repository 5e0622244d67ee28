//! Options of exports.

use std::sync::Arc;
use std::time::Duration;

use crate::clients::Counts;

/// Options of exports, for [`crate::AppOptions::exports`]. Clones share the limit on concurrent exports, so pass clones of
/// one value to applications that replace each other.
#[derive(Clone, Debug)]
pub struct Exports {
    /// The time limit of an export, 5 minutes by default. An export keeps a snapshot of the database until it ends, however slow
    /// its client is.
    pub timeout: Duration,
    /// The number of exports that may run at a time, 16 by default. Each uses a connection to the database, and with SQLite also
    /// a thread.
    pub at_once: usize,
    pub(crate) running: Arc<Counts<()>>,
}

impl Default for Exports {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(300), at_once: 16, running: Arc::default() }
    }
}
