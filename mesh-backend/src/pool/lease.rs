//! The right to use a connection of a pool.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use super::connection::Connection;
use super::idle::IdleConnections;

/// The time limit for ending a statement, after which its connection is dropped.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The right to use a connection. If a lease is dropped while a statement is running, as when the future of a read is dropped
/// because its client has disconnected, the statement is ended and the connection closed. A connection with an open
/// transaction is closed, too.
pub struct Lease<C: Connection> {
    connection: Option<C>,
    idle: Arc<IdleConnections<C>>,
    /// The slot, which is held until a statement has ended; `None` for a connection that is one more than the pool may keep.
    slot: Option<OwnedSemaphorePermit>,
}

impl<C: Connection> Lease<C> {
    pub(super) fn new(
        connection: C,
        idle: &Arc<IdleConnections<C>>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { connection: Some(connection), idle: Arc::clone(idle), slot }
    }
}

impl<C: Connection> Deref for Lease<C> {
    type Target = C;

    #[expect(clippy::expect_used, reason = "the connection is taken on drop only")]
    fn deref(&self) -> &C {
        self.connection.as_ref().expect("a lease has a connection")
    }
}

impl<C: Connection> DerefMut for Lease<C> {
    #[expect(clippy::expect_used, reason = "the connection is taken on drop only")]
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("a lease has a connection")
    }
}

impl<C: Connection> Drop for Lease<C> {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let slot = self.slot.take();
        if connection.is_running() {
            let Ok(runtime) = Handle::try_current() else { return };
            runtime.spawn(async move {
                // The statement may have ended in the meantime. The connection is not used again, because its next statement
                // could be ended instead.
                if let Ok(Err(error)) = tokio::time::timeout(END_TIMEOUT, connection.end_statement()).await {
                    tracing::debug!("a statement could not be ended: {error}");
                }
                drop((connection, slot));
            });
        } else if slot.is_some() && !connection.in_transaction() && connection.is_open() {
            self.idle.add(connection);
        }
    }
}
