//! The right to use a connection of a pool.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::pool::link::Link;
use mesh_backend::pool::IdleConnections;

/// The time limit for cancelling a statement, after which its connection is dropped.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// The time after which a statement that still runs is cancelled again.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// The right to use a connection. If a lease is dropped while a statement is running, as when the future of a read is
/// dropped because its client has disconnected, the statement is cancelled and the connection closed. A connection with
/// an open transaction is closed, too.
pub(crate) struct Lease {
    pub(super) link: Arc<Link>,
    pub(super) idle: Arc<IdleConnections<Arc<Link>>>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

impl Deref for Lease {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let link = Arc::clone(&self.link);
        if link.is_free() {
            // A connection without a slot is one more than the settings allow.
            if self.slot.is_some() {
                self.idle.add(link);
            }
        } else if link.is_running()
            && let Ok(runtime) = Handle::try_current()
        {
            let slot = self.slot.take();
            runtime.spawn(async move {
                // The statement may have ended in the meantime. The connection is not used again, because the
                // cancellation could then hit its next statement.
                let _ = tokio::time::timeout(CANCEL_TIMEOUT, link.end_statement(CANCEL_INTERVAL)).await;
                drop((link, slot));
            });
        }
    }
}
