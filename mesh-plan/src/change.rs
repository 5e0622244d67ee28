//! What has changed? The notice board between those who write and those who watch.
//!
//! Whoever writes tells [`Changes`] about it; whoever watches holds a [`Listener`]. Neither waits for the
//! other: the board keeps the newest notices only, and a listener that is too far behind is told that
//! anything may have changed, which is always true and never less than what it missed.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use mesh_schema::{Link, Schema, TableName};

use crate::plan::{Node, Plan, Target};
use crate::planner::literal;

/// Notices that the board keeps for listeners that are behind.
const KEPT: usize = 1_024;

/// Something that was written, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Change {
    /// The key of the entity; `None`: it may have been any.
    pub entity: Option<Arc<str>>,
    /// The id of the record as it stands in a URL; `None`: it may have been any of the entity's.
    pub id: Option<Arc<str>>,
}

impl Change {
    /// One record was created, changed or removed.
    pub fn record(entity: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self { entity: Some(entity.into()), id: Some(id.into()) }
    }

    /// Some records of an entity were.
    pub fn entity(entity: impl Into<Arc<str>>) -> Self {
        Self { entity: Some(entity.into()), id: None }
    }

    /// Anything may have changed.
    pub fn anything() -> Self {
        Self { entity: None, id: None }
    }
}

impl Plan {
    /// Whether its answer may be another after a change. Entities over one table change together, and so does
    /// an entity over a junction with the relations through it; what a view is made of is not known here.
    pub fn is_touched_by(&self, change: &Change, schema: &Schema) -> bool {
        let Some(key) = &change.entity else { return true };
        let Some(id) = schema.find(key) else { return true };
        let table = &schema.entity(id).table;
        let root = self.node();
        let is_other = || match (&self.target, &change.id, &root.id) {
            (Target::Point(asked), Some(changed), Some(column)) if *root.entity == **key => {
                let changed = literal::id(column.ty, column.time_form, changed);
                changed.is_some_and(|changed| changed != *asked)
            }
            _ => false,
        };
        (root.table == *table && !is_other())
            || root.joins.iter().any(|join| touches(&join.node, table) || passes(&join.link, table))
    }
}

/// Plans are nested as deep as queries, which is bounded.
fn touches(node: &Node, table: &TableName) -> bool {
    node.table == *table
        || node.joins.iter().any(|join| touches(&join.node, table) || passes(&join.link, table))
}

fn passes(link: &Link, junction: &TableName) -> bool {
    matches!(link, Link::Through { table, .. } if table == junction)
}

/// The notice board. Cheap to clone; all clones are one.
///
/// ```
/// use mesh_plan::{Change, Changes};
///
/// let changes = Changes::new();
/// let mut listener = changes.listen();
/// changes.notify(Change::record("post", "7"));
/// assert_eq!(listener.next_now(), Some(Change::record("post", "7")));
/// assert_eq!(listener.next_now(), None);
/// ```
#[derive(Clone, Default)]
pub struct Changes {
    board: Arc<Mutex<Board>>,
}

#[derive(Default)]
struct Board {
    /// The newest notices.
    kept: VecDeque<Change>,
    /// How many notices were dropped before the first one kept.
    dropped: u64,
    listeners: HashMap<u64, Option<Waker>>,
    next_listener: u64,
    /// Those who wait for the first listener.
    waiting: Vec<Waker>,
}

impl Board {
    fn end(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }
}

impl Changes {
    /// A board without notices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts up a notice. Where nobody listens it is forgotten at once.
    pub fn notify(&self, change: Change) {
        let mut board = self.lock();
        if board.listeners.is_empty() {
            return;
        }
        if board.kept.len() == KEPT {
            board.kept.pop_front();
            board.dropped += 1;
        }
        board.kept.push_back(change);
        let wakers: Vec<Waker> = board.listeners.values_mut().filter_map(Option::take).collect();
        drop(board);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Listens from now on.
    pub fn listen(&self) -> Listener {
        let mut board = self.lock();
        let number = board.next_listener;
        board.next_listener += 1;
        board.listeners.insert(number, None);
        let next = board.end();
        let waiting = std::mem::take(&mut board.waiting);
        drop(board);
        waiting.into_iter().for_each(Waker::wake);
        Listener { changes: self.clone(), number, next }
    }

    /// Whether anybody listens. A source that has to look for changes need not look while nobody does.
    pub fn is_wanted(&self) -> bool {
        !self.lock().listeners.is_empty()
    }

    /// Done as soon as somebody listens.
    pub async fn wanted(&self) {
        std::future::poll_fn(|cx| {
            let mut board = self.lock();
            if !board.listeners.is_empty() {
                return Poll::Ready(());
            }
            if !board.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                board.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        // Every change of the board is whole before anything can panic.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("listeners", &self.lock().listeners.len()).finish_non_exhaustive()
    }
}

/// Hears of changes, in their order. A stream that never ends.
#[derive(Debug)]
pub struct Listener {
    changes: Changes,
    number: u64,
    next: u64,
}

impl Listener {
    /// The next notice that is already there.
    pub fn next_now(&mut self) -> Option<Change> {
        let changes = self.changes.clone();
        let mut board = changes.lock();
        self.take(&mut board)
    }

    fn take(&mut self, board: &mut Board) -> Option<Change> {
        if self.next < board.dropped {
            // What came between is gone, so all of it may have been.
            self.next = board.end();
            return Some(Change::anything());
        }
        let place = usize::try_from(self.next - board.dropped).ok()?;
        let change = board.kept.get(place)?.clone();
        self.next += 1;
        Some(change)
    }
}

impl Stream for Listener {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let changes = self.changes.clone();
        let mut board = changes.lock();
        if let Some(change) = self.take(&mut board) {
            return Poll::Ready(Some(change));
        }
        if let Some(waker) = board.listeners.get_mut(&self.number) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut board = self.changes.lock();
        board.listeners.remove(&self.number);
        if board.listeners.is_empty() {
            board.dropped = board.end();
            board.kept.clear();
        }
    }
}
