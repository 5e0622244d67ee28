//! Batches of light point reads. While some reads of a statement run, further ones wait. When the next answer arrives, those
//! that wait are sent as one statement: an answer costs the database and the server far more than a row.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use mesh_backend::pool::RowBudget;
use mesh_sql::Statement;
use mesh_sql::postgres::{self, Param, ReadStatement};
use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;
use tokio_postgres::Row;

use crate::cells::integer;
use crate::pool::shared::{SharedLinks, SharedRead};
use crate::pool::weight::Weight;
use crate::sql::TextParam;

/// The number of statements that run at the same time before further reads wait.
pub(crate) const STATEMENTS: usize = 4;
/// The maximum number of reads in a batch.
const READS: usize = 128;

/// The number of reads that run alone after a batch has taken too long.
const READS_ALONE: i8 = 100;

/// A statement for several point reads that differ only in their ids.
pub(crate) struct BatchStatement {
    sql: String,
    /// For each parameter of the single statement, whether it is a part of the id.
    is_id: Vec<bool>,
    /// The weight of this statement. While it is heavy, no reads wait for a batch.
    weight: Weight,
}

/// The point reads that run or wait.
pub(super) struct Batches {
    links: Arc<SharedLinks>,
    queues: Mutex<HashMap<Key, Queue>>,
}

/// What the reads of a batch have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// The address of the statement, which each running read keeps.
    statement: usize,
    /// A batch has reads of one runtime only, because waking the tasks of another one is slower.
    runtime: Id,
    /// The parameters that are not parts of the id.
    values: Vec<Option<String>>,
}

#[derive(Default)]
struct Queue {
    running: usize,
    waiting: Vec<WaitingRead>,
}

/// A read that waits.
struct WaitingRead {
    id: Vec<Option<String>>,
    budget: RowBudget,
    rows: oneshot::Sender<Vec<Row>>,
}

/// When a read runs.
pub(super) enum Turn {
    /// Now. The value is kept while the read runs.
    Now(RunningRead),
    /// In a batch, which sends the rows. If it fails, the read has to run alone.
    InBatch(oneshot::Receiver<Vec<Row>>),
}

/// A read or batch that runs. When it is dropped, the reads that wait are sent.
pub(super) struct RunningRead {
    batches: Arc<Batches>,
    statement: Arc<BatchStatement>,
    key: Key,
}

impl BatchStatement {
    /// Creates the statement for several reads of a single statement.
    pub(crate) fn new(batch: Statement<Param>, single: &ReadStatement) -> Self {
        let values = |params: &[Param]| params.iter().filter(|it| !it.is_id()).cloned().collect::<Vec<_>>();
        debug_assert_eq!(values(&batch.params), values(&single.statement.params), "{batch}");
        let is_id = single.statement.params.iter().map(Param::is_id).collect();
        Self { sql: batch.sql, is_id, weight: Weight::light() }
    }

    /// Records a read that ran alone.
    pub(super) fn record_alone(&self) {
        self.weight.record_light();
    }

    /// Returns the parameters of a single read that are parts of its id, or the others.
    fn part(&self, params: &[TextParam<'_>], is_id: bool) -> Vec<Option<String>> {
        let params = params.iter().zip(&self.is_id).filter(|(_, known)| **known == is_id);
        params.map(|(TextParam(text), _)| text.as_deref().map(str::to_owned)).collect()
    }
}

impl Batches {
    pub(super) fn new(links: Arc<SharedLinks>) -> Self {
        Self { links, queues: Mutex::default() }
    }

    /// Returns when a read runs.
    pub(super) fn join(
        self: &Arc<Self>,
        statement: &Arc<BatchStatement>,
        params: &[TextParam<'_>],
        budget: RowBudget,
    ) -> Turn {
        let key = Key {
            statement: Arc::as_ptr(statement).addr(),
            runtime: Handle::current().id(),
            values: statement.part(params, false),
        };
        let mut queues = self.queues.lock();
        let queue = queues.entry(key.clone()).or_default();
        if queue.running >= STATEMENTS && statement.weight.is_light() {
            let (sender, rows) = oneshot::channel();
            queue.waiting.push(WaitingRead { id: statement.part(params, true), budget, rows: sender });
            return Turn::InBatch(rows);
        }
        queue.running += 1;
        drop(queues);
        Turn::Now(RunningRead { batches: Arc::clone(self), statement: Arc::clone(statement), key })
    }

    /// Takes reads that wait. If there are none, one statement fewer runs.
    fn take(&self, key: &Key) -> Vec<WaitingRead> {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.get_mut(key) else { return Vec::new() };
        let waiting: Vec<_> = queue.waiting.drain(..queue.waiting.len().min(READS)).collect();
        if waiting.is_empty() {
            queue.running -= 1;
            if queue.running == 0 {
                queues.remove(key);
            }
        }
        waiting
    }
}

impl Drop for RunningRead {
    fn drop(&mut self) {
        let waiting = self.batches.take(&self.key);
        if waiting.is_empty() {
            return;
        }
        let next = Self {
            batches: Arc::clone(&self.batches),
            statement: Arc::clone(&self.statement),
            key: self.key.clone(),
        };
        // Without a runtime, the reads that wait get no rows from a batch.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { next.run(waiting).await });
        }
    }
}

impl RunningRead {
    /// Runs a batch. The reads that get no rows from it run alone.
    async fn run(&self, mut reads: Vec<WaitingRead>) {
        reads.retain(|read| !read.rows.is_closed());
        let weight = &self.statement.weight;
        let Some(first) = reads.first().filter(|_| weight.is_light()) else { return };
        let Some(lease) = self.batches.links.choose() else { return };
        let ids = (0..first.id.len()).map(|part| {
            let texts = reads.iter().map(|read| read.id.get(part).cloned().flatten());
            TextParam(Some(Cow::Owned(postgres::array(texts))))
        });
        let values = self.key.values.iter().map(|text| TextParam(text.as_deref().map(Cow::Borrowed)));
        let params: Vec<TextParam<'_>> = ids.chain(values).collect();
        let budget = first.budget.times(reads.len());
        match lease.query(&self.statement.sql, &params, budget).await {
            SharedRead::Ended(Ok(rows), took) => {
                weight.record_shared(took);
                answer(reads, rows);
            }
            SharedRead::Heavy | SharedRead::Unprepared => weight.record_heavy(READS_ALONE),
            SharedRead::Ended(Err(error), _) | SharedRead::Lost(error) => {
                tracing::debug!("running the reads of a batch alone: {error}");
            }
        }
    }
}

/// Sends each row to its read, whose number is the last cell.
fn answer(reads: Vec<WaitingRead>, rows: Vec<Row>) {
    let mut found: Vec<Vec<Row>> = reads.iter().map(|_| Vec::new()).collect();
    for row in rows {
        let number = integer(&row, row.len() - 1).and_then(|number| usize::try_from(number - 1).ok());
        if let Some(rows) = number.and_then(|number| found.get_mut(number)) {
            rows.push(row);
        }
    }
    for (read, rows) in reads.into_iter().zip(found) {
        let _ = read.rows.send(rows);
    }
}
