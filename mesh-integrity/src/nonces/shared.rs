//! Nonces of several servers in one table. A server that runs alone does not write each nonce.
//!
//! Timestamps are whole seconds. The table has one mark: timestamps up to it are claimed, and a nonce with such a
//! timestamp is accepted only by the server that has claimed it, which keeps it in memory. A server claims the current
//! second in the table when it needs it, so a server that runs alone writes at most once per second. It can claim only
//! while no other server shares the table. Otherwise, or if a client's clock is ahead, nonces are inserted into the
//! table, many at a time, and the table refuses those whose timestamps are claimed.
//!
//! The nonces of each timestamp are therefore looked up in exactly one location, even if servers do not detect each
//! other or their clocks differ. A server that starts, or takes over, refuses the timestamps that were claimed before.

use std::collections::HashSet;
use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_channel::oneshot;
use futures_util::future::Either;
use parking_lot::Mutex;

use super::{MemoryNonces, Nonce, NonceStore, NonceUse};
use crate::{BoxFuture, MaybeReady, SessionId, StoreError};

/// The number of nonces that are inserted by one statement.
const BATCH: usize = 1_000;

/// A nonce in a table. See [`Nonce`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of `Nonce`")]
pub struct NonceRow {
    pub session: SessionId,
    pub text: Box<str>,
    pub time: u64,
    pub until: u64,
}

/// The timestamps that a server has claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The mark before the claim. Later timestamps belong to the server.
    pub after: u64,
    /// The nonces of these timestamps that are in the table.
    pub used: Vec<NonceRow>,
}

/// A table of nonces with a mark, which several servers share. Times are milliseconds since the Unix epoch.
///
/// Claims and insertions exclude each other: an insertion that has read the mark is complete before the mark changes.
pub trait NonceTable: Send + Sync + 'static {
    /// Returns the mark.
    fn mark(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Raises the mark to `time`. Returns `None` if the mark is not lower, or if another server uses the table.
    fn claim(&self, time: u64, now: u64) -> BoxFuture<'_, Result<Option<Claimed>, StoreError>>;

    /// Inserts distinct nonces and returns for each whether it was new; [`NonceUse::Unknown`] for timestamps up to the
    /// mark.
    fn insert(&self, nonces: Vec<NonceRow>, now: u64) -> BoxFuture<'_, Result<Vec<NonceUse>, StoreError>>;

    /// Runs `work` to completion in the background.
    fn spawn(&self, work: BoxFuture<'static, ()>);
}

/// A [`NonceStore`] over a [`NonceTable`]. Clones share their state.
#[derive(Clone)]
pub struct SharedNonces(Arc<Inner>);

struct Inner {
    table: Arc<dyn NonceTable>,
    /// The nonces of the claimed timestamps.
    memory: MemoryNonces,
    /// The claimed timestamps are those after the first and up to the second. The second is written last and read first.
    after: AtomicU64,
    up_to: AtomicU64,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<QueuedNonce>,
    /// Whether a task processes the queue.
    is_running: bool,
    /// The last timestamp that could not be claimed.
    last_unclaimable: u64,
}

/// A nonce that waits to be stored.
struct QueuedNonce {
    row: NonceRow,
    now: u64,
    reply: oneshot::Sender<Result<NonceUse, StoreError>>,
}

impl SharedNonces {
    /// Creates a store over a table. Returns it with the last timestamp that it will refuse, because another process may have
    /// accepted it.
    ///
    /// # Errors
    /// [`StoreError`] if the table cannot be read.
    pub async fn open(table: impl NonceTable) -> Result<(Self, u64), StoreError> {
        let table: Arc<dyn NonceTable> = Arc::new(table);
        let mark = table.mark().await?;
        let (after, up_to) = (AtomicU64::new(mark), AtomicU64::new(mark));
        let (memory, queue) = Default::default();
        Ok((Self(Arc::new(Inner { table, memory, after, up_to, queue })), mark))
    }
}

impl NonceStore for SharedNonces {
    fn remember<'a>(&'a self, nonce: Nonce<'a>, now: u64) -> MaybeReady<'a, Result<NonceUse, StoreError>> {
        let inner = &self.0;
        match inner.remember_claimed(nonce, now) {
            Some(known) => Either::Left(ready(Ok(known))),
            None => {
                let Nonce { session, text, time, until } = nonce;
                let reply = inner.enqueue(NonceRow { session, text: text.into(), time, until }, now);
                Either::Right(Box::pin(async move {
                    reply.await.unwrap_or_else(|_| Err(StoreError::new("the task of the nonces has ended")))
                }))
            }
        }
    }
}

impl Inner {
    /// Records a nonce whose timestamp is claimed, by this process or by another one.
    fn remember_claimed(&self, nonce: Nonce<'_>, now: u64) -> Option<NonceUse> {
        if nonce.time > self.up_to.load(Ordering::Acquire) {
            return None;
        }
        if nonce.time <= self.after.load(Ordering::Acquire) {
            return Some(NonceUse::Unknown);
        }
        Some(NonceUse::from_is_new(self.memory.insert(nonce.session, nonce.text, nonce.until, now)))
    }

    fn enqueue(self: &Arc<Self>, row: NonceRow, now: u64) -> oneshot::Receiver<Result<NonceUse, StoreError>> {
        let (reply, receiver) = oneshot::channel();
        let is_running = {
            let mut queue = self.queue.lock();
            queue.waiting.push(QueuedNonce { row, now, reply });
            std::mem::replace(&mut queue.is_running, true)
        };
        // The lock is released first, because a runtime that shuts down drops the task at once.
        if !is_running {
            self.table.spawn(Box::pin(QueueTask { inner: Arc::clone(self), has_ended: false }.run()));
        }
        receiver
    }

    /// Claims the latest timestamp in the batch that is not ahead of the clock, unless it is known to be unclaimable.
    async fn claim(&self, batch: &[QueuedNonce]) -> Result<(), StoreError> {
        let claimable = batch.iter().filter(|waiting| waiting.row.time <= waiting.now);
        let Some(latest) = claimable.max_by_key(|waiting| waiting.row.time) else { return Ok(()) };
        let (time, now) = (latest.row.time, latest.now);
        let up_to = self.up_to.load(Ordering::Relaxed);
        if time <= up_to.max(self.queue.lock().last_unclaimable) {
            return Ok(());
        }
        match self.table.claim(time, now).await? {
            None => self.queue.lock().last_unclaimable = time,
            Some(Claimed { after, used }) => {
                for row in used {
                    self.memory.insert(row.session, &row.text, row.until, now);
                }
                if after > up_to {
                    // Another process has claimed timestamps in between.
                    self.after.store(after, Ordering::Release);
                }
                self.up_to.store(time, Ordering::Release);
            }
        }
        Ok(())
    }

    async fn process_batch(&self, batch: Vec<QueuedNonce>) {
        let claimed = self.claim(&batch).await;
        let mut rows = Vec::new();
        let mut replies = Vec::new();
        let mut seen = HashSet::new();
        for QueuedNonce { row, now, reply } in batch {
            if let Some(known) = self.remember_claimed(row.as_nonce(), now) {
                let _ = reply.send(Ok(known));
            } else if !seen.insert((row.session, row.text.clone())) {
                let _ = reply.send(Ok(NonceUse::Used));
            } else {
                rows.push(row);
                replies.push((now, reply));
            }
        }
        let Some(now) = replies.iter().map(|(now, _)| *now).max() else { return };
        let inserted = match claimed {
            Ok(()) => self.table.insert(rows.clone(), now).await,
            Err(error) => Err(error),
        };
        match inserted {
            Ok(uses) => {
                for ((row, (now, reply)), inserted) in rows.iter().zip(replies).zip(uses) {
                    // The timestamp was claimed in the meantime, perhaps by this process.
                    let is_claimed = inserted == NonceUse::Unknown;
                    let known = is_claimed.then(|| self.remember_claimed(row.as_nonce(), now)).flatten();
                    let _ = reply.send(Ok(known.unwrap_or(inserted)));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for (_, reply) in replies {
                    let _ = reply.send(Err(StoreError::new(Arc::clone(&error))));
                }
            }
        }
    }
}

/// The task that processes the queue.
struct QueueTask {
    inner: Arc<Inner>,
    has_ended: bool,
}

impl QueueTask {
    async fn run(mut self) {
        while let Some(batch) = self.next_batch() {
            self.inner.process_batch(batch).await;
        }
    }

    fn next_batch(&mut self) -> Option<Vec<QueuedNonce>> {
        let mut queue = self.inner.queue.lock();
        if queue.waiting.is_empty() {
            queue.is_running = false;
            self.has_ended = true;
            return None;
        }
        let length = queue.waiting.len().min(BATCH);
        Some(queue.waiting.drain(..length).collect())
    }
}

impl Drop for QueueTask {
    /// Lets the next nonce start another task if this task was dropped with its runtime.
    fn drop(&mut self) {
        if !self.has_ended {
            let mut queue = self.inner.queue.lock();
            queue.is_running = false;
            queue.waiting.clear();
        }
    }
}

impl NonceRow {
    fn as_nonce(&self) -> Nonce<'_> {
        Nonce { session: self.session, text: &self.text, time: self.time, until: self.until }
    }
}

impl fmt::Debug for SharedNonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (after, up_to) = (&self.0.after, &self.0.up_to);
        f.debug_struct("SharedNonces").field("after", after).field("up_to", up_to).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
