//! Notification of changed records.
//!
//! Writers call [`Changes::notify`], and each [`Listener`] receives all changes in order. Neither waits for the other:
//! only the newest changes are buffered, and a listener that falls too far behind receives [`Change::anything`], which
//! covers all that it missed.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use mesh_schema::{FieldType, Link, Schema, TableName};
use parking_lot::Mutex;

use crate::plan::{Column, Node, Plan, Target};
use crate::planner::literal;
use crate::{RecordId, Value};

/// The number of changes that are buffered for slow listeners.
const CAPACITY: usize = 1_024;

/// A change of records, with as much detail as is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Change {
    /// The key of the entity; `None` if any entity may have changed.
    pub entity: Option<Arc<str>>,
    /// The id of the record as in [`RecordId::Text`]; `None` if any record of the entity may have changed.
    pub id: Option<Arc<str>>,
}

impl Change {
    /// Creates a change of one record, which was created, updated or deleted.
    pub fn record(entity: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self { entity: Some(entity.into()), id: Some(id.into()) }
    }

    /// Creates a change of unknown records of an entity.
    pub fn entity(entity: impl Into<Arc<str>>) -> Self {
        Self { entity: Some(entity.into()), id: None }
    }

    /// Creates a change after which any record may differ.
    pub fn anything() -> Self {
        Self { entity: None, id: None }
    }
}

impl Plan {
    /// Returns whether a change may affect the response. Entities that share a table change together, and a relation through
    /// a junction table changes with the entity of that table. The tables that a view reads are unknown, so changes of these
    /// tables do not count as changes of the view.
    pub fn is_touched_by(&self, change: &Change, schema: &Schema) -> bool {
        let Some(key) = &change.entity else { return true };
        let Some(id) = schema.find(key) else { return true };
        let table = &schema.entity(id).table;
        let root = self.node();
        let is_other = || match (&self.target, &change.id) {
            (Target::Point(read), Some(changed)) if *root.entity == **key => {
                let changed = literal::key(&root.id, RecordId::Text(changed));
                changed.is_some_and(|changed| are_different(&changed, read))
            }
            _ => false,
        };
        (root.table == *table && !is_other()) || is_read_by_descendants(root, table)
    }

    /// Returns changes that together cover everything that may affect the response. For the entity that is read, this is a
    /// change of the one record if no other record of the entity may affect the response; otherwise they are changes of
    /// whole entities. Only integers and UUIDs name a record, since they have one spelling apart from letter case. Other
    /// texts can be equal by a collation.
    pub fn sources(&self, schema: &Schema) -> Vec<Change> {
        let root = self.node();
        let read = match &self.target {
            Target::Point(read) if !is_read_by_descendants(root, &root.table) => record_name(&root.id, read),
            _ => None,
        };
        let entities = schema.entities().map(|(_, entity)| entity.key.as_str());
        let changes = entities.map(|key| (key, Change::entity(key)));
        let touching = changes.filter(|(_, change)| self.is_touched_by(change, schema));
        touching
            .map(|(key, change)| match &read {
                Some(id) if *key == *root.entity => Change::record(key, id.as_str()),
                _ => change,
            })
            .collect()
    }
}

/// Returns whether two ids certainly identify different records. Texts that differ only in case may identify the same
/// record, as UUIDs or by a collation.
fn are_different(one: &[Value], other: &[Value]) -> bool {
    let differ = |parts: (&Value, &Value)| match parts {
        (Value::Text(one), Value::Text(other)) => one.to_lowercase() != other.to_lowercase(),
        (one, other) => one != other,
    };
    one.len() != other.len() || one.iter().zip(other).any(differ)
}

/// Returns the text of an id; `None` if the id may have several spellings.
fn record_name(columns: &[Column], key: &[Value]) -> Option<String> {
    match (columns, key) {
        (_, [Value::Integer(value)]) => Some(value.to_string()),
        ([Column { ty: Some(FieldType::Uuid), .. }], [Value::Text(text)]) => Some(text.clone()),
        _ => None,
    }
}

/// Returns whether a relation below a node, or one that a condition or an order uses, reads a table. The recursion is
/// bounded by the depth of queries and policies.
fn is_read_by_descendants(node: &Node, table: &TableName) -> bool {
    let joins = node.joins.iter().map(|join| (&join.link, &join.node));
    let mut below = joins.chain(node.related.iter().map(|related| (&related.link, &related.node)));
    below.any(|(link, node)| {
        let is_junction = matches!(link, Link::Through { table: junction, .. } if junction == table);
        is_junction || node.table == *table || is_read_by_descendants(node, table)
    })
}

/// Distributes changes to listeners. Clones share one queue.
///
/// ```
/// use mesh_plan::{Change, Changes};
///
/// let changes = Changes::new();
/// let mut listener = changes.listen();
/// changes.notify(Change::record("post", "7"));
/// assert_eq!(listener.try_next(), Some(Change::record("post", "7")));
/// assert_eq!(listener.try_next(), None);
/// ```
#[derive(Clone, Default)]
pub struct Changes {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    /// The newest changes.
    buffer: VecDeque<Change>,
    /// The number of changes that were dropped before the first of `buffer`.
    dropped: u64,
    listeners: HashMap<u64, Option<Waker>>,
    next_listener: u64,
    /// Wakers of tasks that wait for the first listener.
    waiting: Vec<Waker>,
}

impl Queue {
    fn end(&self) -> u64 {
        self.dropped + self.buffer.len() as u64
    }
}

impl Changes {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a change to all listeners. Without listeners it is dropped.
    pub fn notify(&self, change: Change) {
        let mut queue = self.queue.lock();
        if queue.listeners.is_empty() {
            return;
        }
        if queue.buffer.len() == CAPACITY {
            queue.buffer.pop_front();
            queue.dropped += 1;
        }
        queue.buffer.push_back(change);
        let wakers: Vec<Waker> = queue.listeners.values_mut().filter_map(Option::take).collect();
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns a listener of all later changes.
    pub fn listen(&self) -> Listener {
        let mut queue = self.queue.lock();
        let number = queue.next_listener;
        queue.next_listener += 1;
        queue.listeners.insert(number, None);
        let next = queue.end();
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        waiting.into_iter().for_each(Waker::wake);
        Listener { changes: self.clone(), number, next }
    }

    /// Returns whether there are listeners. A source that polls for changes can pause while there are none.
    pub fn is_wanted(&self) -> bool {
        !self.queue.lock().listeners.is_empty()
    }

    /// Completes when there is a listener.
    pub async fn wanted(&self) {
        std::future::poll_fn(|cx| {
            let mut queue = self.queue.lock();
            if !queue.listeners.is_empty() {
                return Poll::Ready(());
            }
            if !queue.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                queue.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("listeners", &self.queue.lock().listeners.len())
            .finish_non_exhaustive()
    }
}

/// Receives changes in order. As a stream, it never ends.
#[derive(Debug)]
pub struct Listener {
    changes: Changes,
    number: u64,
    next: u64,
}

impl Listener {
    /// Returns the next change if there is one already.
    pub fn try_next(&mut self) -> Option<Change> {
        let changes = self.changes.clone();
        let mut queue = changes.queue.lock();
        self.take(&mut queue)
    }

    fn take(&mut self, queue: &mut Queue) -> Option<Change> {
        if self.next < queue.dropped {
            // The changes in between were dropped.
            self.next = queue.end();
            return Some(Change::anything());
        }
        let index = usize::try_from(self.next - queue.dropped).ok()?;
        let change = queue.buffer.get(index)?.clone();
        self.next += 1;
        Some(change)
    }
}

impl Stream for Listener {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let changes = self.changes.clone();
        let mut queue = changes.queue.lock();
        if let Some(change) = self.take(&mut queue) {
            return Poll::Ready(Some(change));
        }
        if let Some(waker) = queue.listeners.get_mut(&self.number) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut queue = self.changes.queue.lock();
        queue.listeners.remove(&self.number);
        if queue.listeners.is_empty() {
            queue.dropped = queue.end();
            queue.buffer.clear();
        }
    }
}
