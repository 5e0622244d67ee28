//! Batches of point reads. Reads of a statement that arrive while a batch of it runs wait, and are then sent together as the next
//! batch, which is one statement: an answer costs the database and the server several times as much as a row.
//!
//! A read that gets no rows from its batch runs singly. After a batch that failed, was too slow or returned too much, no reads of
//! its statement gather until its next trial.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_backend::pool::RowBudget;
use mesh_sql::postgres::array;
use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot::{self, Sender};
use tokio_postgres::Row;

use crate::cells::integer;
use crate::pool::shared::SharedConnections;
use crate::sql::TextParam;

/// The maximum number of reads in a batch.
const READS: usize = 64;

/// The reads that gather on the shared connections to one server.
pub(crate) struct Batches {
    shared: Arc<SharedConnections>,
    /// The reads of each batch that will be sent next.
    gathered: Mutex<HashMap<Key, Vec<GatheredRead>>>,
}

/// The statement of a batch and the runtime of its reads. Waking the tasks of another runtime is slower.
type Key = (Arc<str>, Id);

struct GatheredRead {
    id: Vec<Option<String>>,
    budget: RowBudget,
    rows: Sender<Vec<Row>>,
}

/// The batches of a statement, which are sent one after the other. When this is dropped, the reads that wait run singly.
struct Running {
    batches: Arc<Batches>,
    key: Key,
}

impl Batches {
    pub(super) fn new(shared: Arc<SharedConnections>) -> Arc<Self> {
        Arc::new(Self { shared, gathered: Mutex::default() })
    }

    /// Returns whether the batches of some statement are sent.
    #[cfg(test)]
    pub(crate) fn are_sent(&self) -> bool {
        !self.gathered.lock().is_empty()
    }

    /// Reads in the next batch. `None` if the read has to run singly: no other waits, one of the statements does not share
    /// connections, or the batch has failed.
    pub(crate) async fn read(
        self: &Arc<Self>,
        sql: &str,
        batch: Option<&Arc<str>>,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Option<Vec<Row>> {
        let batch = batch?;
        let is_idle = self.shared.counts().1 == 0;
        if is_idle || !self.shared.shares(sql) || self.shared.may_share(batch).is_none() {
            return None;
        }
        let id = params.iter().map(|TextParam(part)| part.as_deref().map(str::to_owned)).collect();
        let (sender, rows) = oneshot::channel();
        let key = (Arc::clone(batch), Handle::current().id());
        let is_first = {
            let mut gathered = self.gathered.lock();
            let is_first = !gathered.contains_key(&key);
            gathered.entry(key.clone()).or_default().push(GatheredRead { id, budget, rows: sender });
            is_first
        };
        if is_first {
            // This is a separate task, so it does not depend on whether any of the reads is polled.
            tokio::spawn(Running { batches: Arc::clone(self), key }.run());
        }
        rows.await.ok()
    }
}

impl Running {
    /// Sends batches until fewer than two reads wait.
    async fn run(self) {
        let (sql, shared) = (&self.key.0, &self.batches.shared);
        loop {
            // Reads that can already be started join this batch.
            tokio::task::yield_now().await;
            let reads = self.take();
            let [first, _, ..] = reads.as_slice() else { return };
            let texts =
                |part| reads.iter().map(move |read: &GatheredRead| read.id.get(part).cloned().flatten());
            let parts = (0..first.id.len()).map(|part| TextParam(Some(array(texts(part)).into())));
            match shared.read(sql, &parts.collect::<Vec<_>>(), RowBudget::UNLIMITED).await {
                Some(Ok(rows)) => answer(reads, rows),
                Some(Err(error)) => {
                    tracing::debug!("running the reads of a batch singly: {error}");
                    shared.set_alone(sql);
                }
                None => {}
            }
        }
    }

    /// Takes the reads of the next batch.
    fn take(&self) -> Vec<GatheredRead> {
        let mut gathered = self.batches.gathered.lock();
        let Some(reads) = gathered.get_mut(&self.key) else { return Vec::new() };
        reads.retain(|read| !read.rows.is_closed());
        reads.drain(..reads.len().min(READS)).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.batches.gathered.lock().remove(&self.key);
    }
}

/// Sends each row to its read, whose number is the last cell.
fn answer(reads: Vec<GatheredRead>, rows: Vec<Row>) {
    let mut found: Vec<Vec<Row>> = reads.iter().map(|_| Vec::new()).collect();
    for row in rows {
        let number = integer(&row, row.len() - 1).and_then(|number| usize::try_from(number - 1).ok());
        if let Some(rows) = number.and_then(|number| found.get_mut(number)) {
            rows.push(row);
        }
    }
    for (mut read, rows) in reads.into_iter().zip(found) {
        // A read whose budget does not suffice fails when it runs singly.
        if rows.iter().all(|row| read.budget.spend(row.raw_size_bytes()).is_ok()) {
            let _ = read.rows.send(rows);
        }
    }
}
