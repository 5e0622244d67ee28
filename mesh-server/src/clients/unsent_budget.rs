//! The budgets of replies that wait for their readers, for the whole process and for each client address.
//!
//! A body is counted if it is larger than [`MAX_UNCOUNTED_BYTES`], or if other bodies already wait on its connection. A client
//! beyond its share is refused. When the budget of the process is used up, the client that has stalled longest is
//! disconnected.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use mesh_wire::WireError;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::counts::{CountGuard, Counts};
use super::outbox::Outbox;
use crate::rates::client_address::counted_address;

/// The largest body that is not counted.
pub(crate) const MAX_UNCOUNTED_BYTES: usize = 16 * 1024;
/// The default budget of the process.
pub(super) const DEFAULT_BYTES: usize = 256 << 20;
/// The default budget of one client address.
pub(super) const DEFAULT_BYTES_PER_ADDRESS: usize = 32 << 20;
/// Seconds until a client should repeat a refused request.
const RETRY_AFTER: u32 = 1;
/// How long a client must have stalled before its connection is closed in favor of another one.
const MIN_STALL: Duration = Duration::from_secs(1);
/// How long a reply waits for memory that other replies hold.
const ADMIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The bytes of replies that are in memory until their clients read them.
pub(crate) struct UnsentBudget {
    all: Arc<Semaphore>,
    max_all: u32,
    by_address: Arc<Counts<IpAddr>>,
    max_per_address: usize,
    /// The connections of counted replies, in the order of the replies.
    waiting: Mutex<Vec<Weak<CountedReply>>>,
}

impl UnsentBudget {
    pub(super) fn new(all: usize, per_address: usize) -> Self {
        let max_all = u32::try_from(all).unwrap_or(u32::MAX);
        Self {
            all: Arc::new(Semaphore::new(max_all as usize)),
            max_all,
            by_address: Arc::default(),
            max_per_address: per_address,
            waiting: Mutex::default(),
        }
    }

    /// Counts a reply. If the budget of the process is used up, waits a moment for the memory of a closed connection.
    ///
    /// # Errors
    /// 429 if the address has used up its share, 503 if no memory becomes free.
    pub(crate) async fn admit(
        &self,
        address: Option<IpAddr>,
        outbox: Option<&Arc<Outbox>>,
        length: usize,
    ) -> Result<UnsentPermit, WireError> {
        let by_address =
            address.map(|address| self.acquire_share(counted_address(address), length)).transpose()?;
        let all = match self.try_all(length) {
            Some(all) => all,
            None => {
                self.close_stalled();
                let acquired = Arc::clone(&self.all).acquire_many_owned(self.weight(length));
                match tokio::time::timeout(ADMIT_TIMEOUT, acquired).await {
                    Ok(Ok(all)) => all,
                    Ok(Err(_)) | Err(_) => return Err(WireError::unavailable(RETRY_AFTER)),
                }
            }
        };
        let waiting = outbox.map(|outbox| self.register(Arc::clone(outbox)));
        Ok(UnsentPermit { all, by_address, _waiting: waiting })
    }

    /// Registers a counted reply of a connection.
    pub(super) fn register(&self, outbox: Arc<Outbox>) -> Arc<CountedReply> {
        let reply = Arc::new(CountedReply(outbox));
        let mut waiting = self.waiting.lock();
        if waiting.len() == waiting.capacity() {
            waiting.retain(|reply| reply.strong_count() > 0);
        }
        waiting.push(Arc::downgrade(&reply));
        reply
    }

    /// Counts bytes for an address.
    ///
    /// # Errors
    /// 429 if the address has used up its share.
    pub(super) fn acquire_share(
        &self,
        address: IpAddr,
        length: usize,
    ) -> Result<CountGuard<IpAddr>, WireError> {
        let guard = self.by_address.acquire(address, length, self.max_per_address);
        let message = "Too many unread replies to this address; read them or retry later";
        let refused = || WireError { message: message.into(), ..WireError::rate_limit(RETRY_AFTER) };
        guard.ok_or_else(refused)
    }

    fn try_all(&self, length: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).try_acquire_many_owned(self.weight(length)).ok()
    }

    /// Returns the weight of a length: a reply above the whole budget counts as the whole budget.
    fn weight(&self, length: usize) -> u32 {
        u32::try_from(length).unwrap_or(u32::MAX).min(self.max_all)
    }

    /// Returns the number of counted bytes.
    pub(crate) fn used_bytes(&self) -> usize {
        (self.max_all as usize).saturating_sub(self.all.available_permits())
    }

    /// Returns the largest number of counted bytes of any one address.
    pub(super) fn max_address_bytes(&self) -> usize {
        self.by_address.max_count()
    }

    /// Closes the connection whose client has stalled longest.
    fn close_stalled(&self) {
        let replies: Vec<_> = self.waiting.lock().iter().filter_map(Weak::upgrade).collect();
        let stalled = replies.iter().filter_map(|reply| Some((reply.0.stalled_since()?, &reply.0)));
        if let Some((since, outbox)) = stalled.min_by_key(|(since, _)| *since)
            && since.elapsed() >= MIN_STALL
        {
            tracing::debug!("connection closed: its client reads nothing, and others need the memory");
            outbox.close();
        }
    }
}

impl Default for UnsentBudget {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES, DEFAULT_BYTES_PER_ADDRESS)
    }
}

impl fmt::Debug for UnsentBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsentBudget")
            .field("available", &self.all.available_permits())
            .finish_non_exhaustive()
    }
}

/// A counted reply of a connection.
#[derive(Debug)]
pub(super) struct CountedReply(Arc<Outbox>);

/// The right to keep the bytes of a reply in memory, until it is dropped.
#[derive(Debug)]
pub(crate) struct UnsentPermit {
    all: OwnedSemaphorePermit,
    by_address: Option<CountGuard<IpAddr>>,
    _waiting: Option<Arc<CountedReply>>,
}

impl UnsentPermit {
    /// Counts a reply of another length, even above the budgets, because it can no longer be refused.
    pub(crate) fn resize(&mut self, length: usize) {
        self.shrink_to(length);
        let semaphore = self.all.semaphore();
        let missing = length.saturating_sub(self.all.num_permits()).min(semaphore.available_permits());
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(semaphore).try_acquire_many_owned(missing) {
            self.all.merge(more);
        }
        if let Some(by_address) = &mut self.by_address {
            by_address.grow_to(length);
        }
    }

    /// Reduces the permit to a length.
    pub(crate) fn shrink_to(&mut self, length: usize) {
        let excess = self.all.num_permits().saturating_sub(length);
        drop(self.all.split(excess));
        if let Some(by_address) = &mut self.by_address {
            by_address.shrink_to(length);
        }
    }
}

/// Bytes with a value that is dropped with them.
pub(crate) struct GuardedBytes<T> {
    pub(crate) bytes: Bytes,
    pub(crate) _permit: T,
}

impl<T> AsRef<[u8]> for GuardedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));
    const BO: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)));

    fn status(result: Result<UnsentPermit, WireError>) -> u16 {
        result.map_or_else(|error| error.status.as_u16(), |_| 200)
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_and_the_process_have_a_budget_each() {
        let unsent = UnsentBudget::new(100, 60);
        let first = unsent.admit(ADA, None, 50).await.unwrap();
        assert_eq!(status(unsent.admit(ADA, None, 11).await), 429);
        let mut second = unsent.admit(BO, None, 50).await.unwrap();
        assert_eq!(status(unsent.admit(ADA, None, 1).await), 503);
        second.shrink_to(40);
        assert_eq!(status(unsent.admit(ADA, None, 10).await), 200);
        drop(first);
        assert_eq!(status(unsent.admit(ADA, None, 60).await), 200);
        drop(second);
        assert_eq!(status(unsent.admit(ADA, None, 1_000).await), 200, "a single reply may be larger");
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_that_stalls_longest_makes_room_for_others() {
        let unsent = Arc::new(UnsentBudget::new(100, 60));
        let mut tasks = Vec::new();
        for address in [ADA, BO] {
            let outbox = Arc::new(Outbox::default());
            let permit = unsent.admit(address, Some(&outbox), 50).await.unwrap();
            outbox.set_blocked(true);
            let connection = Arc::clone(&outbox);
            let task = tokio::spawn(async move {
                let _connection = (connection, permit);
                std::future::pending::<()>().await;
            });
            outbox.set_connection(task.abort_handle());
            tasks.push(task);
            tokio::time::advance(MIN_STALL).await;
        }
        assert_eq!(status(unsent.admit(Some(IpAddr::from([192, 0, 2, 3])), None, 50).await), 200);
        assert!(tasks.remove(0).await.unwrap_err().is_cancelled());
        assert!(!tasks.remove(0).is_finished());
    }
}
