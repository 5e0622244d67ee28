//! Events that the streams of several clients share. An event counts once for the process as long as it is in memory,
//! and once for each address whose streams have it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use mesh_wire::WireError;
use parking_lot::Mutex;

use super::counts::CountGuard;
use super::outbox::Outbox;
use super::unsent_budget::{CountedReply, GuardedBytes, MAX_UNCOUNTED_BYTES, UnsentBudget};
use crate::rates::client_address::counted_address;

/// The budgets that the events of a stream count against.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnsentAccount {
    pub(crate) unsent: Arc<UnsentBudget>,
    pub(crate) address: Option<IpAddr>,
    /// The replies of the stream's connection.
    pub(crate) outbox: Option<Arc<Outbox>>,
}

/// An event whose bytes count for the process.
#[derive(Debug)]
pub(crate) struct SharedEvent {
    bytes: Bytes,
    /// The counted bytes of each address, which all of its streams share.
    by_address: Mutex<HashMap<IpAddr, Weak<CountGuard<IpAddr>>>>,
}

impl SharedEvent {
    /// Counts an event for the process. If the budget is used up, waits a moment for the memory of a closed connection.
    ///
    /// # Errors
    /// 503 if no memory becomes free.
    pub(crate) async fn new(bytes: Bytes, unsent: &UnsentBudget) -> Result<Self, WireError> {
        let bytes = if bytes.len() > MAX_UNCOUNTED_BYTES {
            let permit = unsent.admit(None, None, bytes.len()).await?;
            Bytes::from_owner(GuardedBytes { bytes, _permit: permit })
        } else {
            bytes
        };
        Ok(Self { bytes, by_address: Mutex::default() })
    }

    /// Counts the event for the address of a stream, unless another stream of the address has it.
    ///
    /// # Errors
    /// 429 if the address has used up its share.
    pub(crate) fn share(&self, account: &UnsentAccount) -> Result<EventShare, WireError> {
        if self.bytes.len() <= MAX_UNCOUNTED_BYTES {
            return Ok(EventShare::default());
        }
        let by_address = account.address.map(|address| self.acquire(account, counted_address(address)));
        let by_address = by_address.transpose()?;
        let waiting = account.outbox.as_ref().map(|outbox| account.unsent.register(Arc::clone(outbox)));
        Ok(EventShare { _by_address: by_address, _waiting: waiting })
    }

    fn acquire(
        &self,
        account: &UnsentAccount,
        address: IpAddr,
    ) -> Result<Arc<CountGuard<IpAddr>>, WireError> {
        let mut by_address = self.by_address.lock();
        if let Some(guard) = by_address.get(&address).and_then(Weak::upgrade) {
            return Ok(guard);
        }
        let guard = Arc::new(account.unsent.acquire_share(address, self.bytes.len())?);
        if by_address.len() == by_address.capacity() {
            by_address.retain(|_, guard| guard.strong_count() > 0);
        }
        by_address.insert(address, Arc::downgrade(&guard));
        Ok(guard)
    }

    /// Returns the event for a stream, with a share that lasts until the bytes are sent.
    pub(crate) fn bytes(&self, share: &EventShare) -> Bytes {
        if self.bytes.len() <= MAX_UNCOUNTED_BYTES {
            return self.bytes.clone();
        }
        Bytes::from_owner(GuardedBytes { bytes: self.bytes.clone(), _permit: share.clone() })
    }
}

/// The right of a stream to keep an event in memory, until the share is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventShare {
    _by_address: Option<Arc<CountGuard<IpAddr>>>,
    /// Lets the connection be closed if its client stalls and others need the memory.
    _waiting: Option<Arc<CountedReply>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Bytes = Bytes::from_static(&[b'x'; 2 * MAX_UNCOUNTED_BYTES]);

    fn account(unsent: &Arc<UnsentBudget>, last: u8) -> UnsentAccount {
        let address = Some(IpAddr::from([192, 0, 2, last]));
        UnsentAccount { unsent: Arc::clone(unsent), address, outbox: Some(Arc::default()) }
    }

    #[tokio::test]
    async fn an_event_counts_once_for_the_process_and_once_for_each_address() {
        let unsent = Arc::new(UnsentBudget::new(5 * MAX_UNCOUNTED_BYTES, 3 * MAX_UNCOUNTED_BYTES));
        let [ada, bo] = [account(&unsent, 1), account(&unsent, 2)];
        let first = SharedEvent::new(EVENT, &unsent).await.unwrap();
        let shares = [&ada, &ada, &bo].map(|account| first.share(account).unwrap());
        assert_eq!(unsent.used_bytes(), 2 * MAX_UNCOUNTED_BYTES);
        let second = SharedEvent::new(EVENT, &unsent).await.unwrap();
        assert_eq!(second.share(&ada).unwrap_err().status.as_u16(), 429);
        let sending = first.bytes(&shares[0]);
        drop((first, shares));
        assert_eq!(unsent.used_bytes(), 4 * MAX_UNCOUNTED_BYTES, "the first event is on its way");
        assert!(second.share(&ada).is_err());
        assert!(second.share(&bo).is_ok());
        drop(sending);
        assert!(second.share(&ada).is_ok());
        assert_eq!(unsent.used_bytes(), 2 * MAX_UNCOUNTED_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_stalls_makes_room_for_the_event_of_others() {
        let unsent = Arc::new(UnsentBudget::new(3 * MAX_UNCOUNTED_BYTES, 3 * MAX_UNCOUNTED_BYTES));
        let ada = account(&unsent, 1);
        let outbox = ada.outbox.clone().unwrap();
        let event = SharedEvent::new(EVENT, &unsent).await.unwrap();
        let share = event.share(&ada).unwrap();
        let bytes = event.bytes(&share);
        drop((event, share));
        outbox.set_blocked(true);
        let connection = tokio::spawn(async move {
            let _unread = bytes;
            std::future::pending::<()>().await;
        });
        outbox.set_connection(connection.abort_handle());
        assert_eq!(SharedEvent::new(EVENT, &unsent).await.unwrap_err().status.as_u16(), 503);
        assert!(SharedEvent::new(EVENT, &unsent).await.is_ok(), "it has stalled for a second");
        assert!(connection.await.unwrap_err().is_cancelled());
    }
}
