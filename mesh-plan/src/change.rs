//! Notification of changed records.
//!
//! Writers call [`Changes::notify`], and each [`Listener`] receives all changes in order. Neither waits for the other:
//! only the newest changes are buffered, and a listener that falls too far behind receives [`Change::anything`], which
//! covers all that it missed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use mesh_schema::{FieldType, Link, NativeKind, NativeType, Schema, TableName};
use parking_lot::Mutex;

use crate::plan::{Column, ColumnSource, Node, Plan, ReadTarget};
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
    /// Tables whose rows have not changed, if `entity` is `None`.
    pub except: Option<Arc<BTreeSet<TableName>>>,
}

impl Change {
    /// Creates a change of one record, which was created, updated or deleted.
    pub fn record(entity: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self { id: Some(id.into()), ..Self::entity(entity) }
    }

    /// Creates a change of unknown records of an entity.
    pub fn entity(entity: impl Into<Arc<str>>) -> Self {
        Self { entity: Some(entity.into()), id: None, except: None }
    }

    /// Creates a change after which any record may differ.
    pub fn anything() -> Self {
        Self { entity: None, id: None, except: None }
    }

    /// Creates a change after which any record may differ, except the rows of these tables.
    pub fn outside(tables: Arc<BTreeSet<TableName>>) -> Self {
        Self { except: Some(tables), ..Self::anything() }
    }

    /// Returns whether the rows of a table may differ after a change that names no entity.
    fn may_concern(&self, table: &TableName) -> bool {
        !self.except.as_ref().is_some_and(|tables| tables.contains(table))
    }

    /// Returns this change as changes of entities. A change of anything is returned as it is. The rows of a junction count as
    /// the records that it leads to, because only relations to them read it.
    pub fn by_entity(&self, schema: &Schema) -> Vec<Self> {
        if self.except.is_none() {
            return vec![self.clone()];
        }
        let mut keys = BTreeSet::new();
        for (_, entity) in schema.entities() {
            if self.may_concern(&entity.table) {
                keys.insert(entity.key.as_str());
            }
            for relation in &entity.relations {
                if matches!(&relation.link, Link::Through { table, .. } if self.may_concern(table)) {
                    keys.insert(&schema.entity(relation.target).key);
                }
            }
        }
        keys.into_iter().map(Self::entity).collect()
    }
}

impl Plan {
    /// Returns whether a change may affect the response. Entities that share a table change together, and a relation through
    /// a junction table changes with the entity of that table. A change of a table does not count as a change of the views
    /// over it: whatever notices changes reports those of views separately.
    pub fn is_touched_by(&self, change: &Change, schema: &Schema) -> bool {
        let root = self.node();
        let Some(key) = &change.entity else {
            return change.may_concern(&root.table)
                || is_read_by_descendants(root, &|table| change.may_concern(table));
        };
        let Some(id) = schema.find(key) else { return true };
        let entity = schema.entity(id);
        let is_other = || match (&self.target, &change.id) {
            (ReadTarget::Point(read), Some(changed)) if *root.entity == **key => {
                let changed = literal::key(&root.id, RecordId::Text(changed));
                changed.is_some_and(|changed| are_different(&root.id, &entity.native, (&changed, read)))
            }
            _ => false,
        };
        (root.table == entity.table && !is_other())
            || is_read_by_descendants(root, &|table| *table == entity.table)
    }

    /// Returns an entity that the response depends on although the database does not show when it has changed, if there is
    /// one. The response cannot be followed.
    pub fn unseen_source<'p>(&'p self, schema: &Schema) -> Option<&'p str> {
        find_unseen(self.node(), schema)
    }

    /// Returns changes that together cover everything that may affect the response. For the entity that is read, this is a
    /// change of the one record if no other record of the entity may affect the response; otherwise they are changes of
    /// whole entities. Only integers and UUIDs name a record, since they have one spelling apart from letter case. Other
    /// texts can be equal by a collation.
    pub fn sources(&self, schema: &Schema) -> Vec<Change> {
        let root = self.node();
        let read = match &self.target {
            ReadTarget::Point(read) if !is_read_by_descendants(root, &|table| *table == root.table) => {
                record_name(&root.id, read)
            }
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

/// Returns whether two ids certainly identify different records. Integers do if they differ. Texts do if they are texts of
/// the storage too, whose comparison depends on a collation at most. Other values, such as numbers with fractions, times and
/// addresses, may have several texts.
fn are_different(
    columns: &[Column],
    natives: &HashMap<String, NativeType>,
    (one, other): (&[Value], &[Value]),
) -> bool {
    let differ = |(column, (one, other)): (&Column, (&Value, &Value))| match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => one != other,
        (Value::Text(one), Value::Text(other)) => is_text(column, natives) && are_different_texts(one, other),
        _ => false,
    };
    one.len() != other.len() || columns.iter().zip(one.iter().zip(other)).any(differ)
}

/// Returns whether the storage compares the values of a column as texts.
fn is_text(column: &Column, natives: &HashMap<String, NativeType>) -> bool {
    let native = match &column.source {
        ColumnSource::Column(name) => natives.get(name),
        _ => None,
    };
    let is_text_type = |native: &NativeType| match native.kind {
        NativeKind::Enum => true,
        NativeKind::BuiltIn => ["text", "varchar", "bpchar", "name", "uuid"].contains(&native.name.as_str()),
        _ => false,
    };
    matches!(column.ty, None | Some(FieldType::String | FieldType::Uuid)) && native.is_none_or(is_text_type)
}

/// Returns whether no collation makes two texts equal. Collations may ignore case, punctuation and blanks at the end, and
/// make letters beyond ASCII equal to others.
fn are_different_texts(one: &str, other: &str) -> bool {
    let letters = |text: &str| {
        let letters = text.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|byte| byte.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    one.is_ascii() && other.is_ascii() && letters(one) != letters(other)
}

/// Returns the text of an id; `None` if the id may have several spellings.
fn record_name(columns: &[Column], key: &[Value]) -> Option<String> {
    match (columns, key) {
        (_, [Value::Integer(value)]) => Some(value.to_string()),
        ([Column { ty: Some(FieldType::Uuid), .. }], [Value::Text(text)]) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the links and nodes of the relations below a node, and of those that a condition or an order uses.
fn relations_of(node: &Node) -> impl Iterator<Item = (&Link, &Node)> {
    let joins = node.joins.iter().map(|join| (&join.link, &join.node));
    joins.chain(node.related.iter().map(|related| (&related.link, &related.node)))
}

/// Returns the junction table of a link.
fn junction_of(link: &Link) -> Option<&TableName> {
    match link {
        Link::Through { table, .. } => Some(table),
        Link::Direct { .. } => None,
    }
}

/// Returns whether a relation below a node, or one that a condition or an order uses, reads one of the tables that `is_meant`
/// selects. The recursion is bounded by the depth of queries and policies.
fn is_read_by_descendants(node: &Node, is_meant: &impl Fn(&TableName) -> bool) -> bool {
    relations_of(node).any(|(link, node)| {
        junction_of(link).is_some_and(is_meant)
            || is_meant(&node.table)
            || is_read_by_descendants(node, is_meant)
    })
}

/// Returns the first entity at or below a node whose changes the database does not show. A junction counts as the entity that
/// it leads to.
fn find_unseen<'p>(node: &'p Node, schema: &Schema) -> Option<&'p str> {
    if schema.has_unseen_changes(&node.table) {
        return Some(&node.entity);
    }
    relations_of(node).find_map(|(link, node)| {
        let is_unseen = junction_of(link).is_some_and(|table| schema.has_unseen_changes(table));
        if is_unseen { Some(&*node.entity) } else { find_unseen(node, schema) }
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
