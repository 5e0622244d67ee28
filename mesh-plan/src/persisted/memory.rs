//! A bounded in-memory cache of persisted queries. Preloaded queries are never evicted.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;

use super::{PersistedQuery, QueryId};

/// Registered queries in memory. Those that are pinned stay. Of the others there are two generations: when
/// the newer one is full it becomes the older, whose queries go unless they are used, which moves them on to
/// the newer. So filling it with unused queries does not drive out those that are run.
#[derive(Debug)]
pub struct MemoryQueries {
    pinned: Queries,
    entries: usize,
    bytes: usize,
    generations: RwLock<[Generation; 2]>,
}

type Queries = HashMap<QueryId, Arc<PersistedQuery>, RandomState>;

#[derive(Debug, Default)]
struct Generation {
    queries: Queries,
    bytes: usize,
}

impl MemoryQueries {
    /// The default maximum number of queries.
    pub const ENTRIES: usize = 10_000;
    /// The default maximum size of all texts in bytes.
    pub const BYTES: usize = 32 << 20;

    /// Room for that many queries, and for that many bytes of their texts; pinned ones are not counted.
    pub fn new(entries: usize, bytes: usize) -> Self {
        Self { pinned: Queries::default(), entries, bytes, generations: RwLock::default() }
    }

    /// How many queries it holds.
    pub fn len(&self) -> usize {
        let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
        self.pinned.len() + newer.queries.len() + older.queries.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a query for good.
    pub(super) fn pin(&mut self, query: PersistedQuery) {
        self.pinned.entry(query.id()).or_insert_with(|| Arc::new(query));
    }

    /// All queries but pinned ones, those that were used last at the end.
    pub(super) fn all(&self) -> Vec<Arc<PersistedQuery>> {
        let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
        let parts = [&older.queries, &newer.queries];
        parts.into_iter().flat_map(HashMap::values).map(Arc::clone).collect()
    }

    /// The query of that id.
    pub(super) fn find(&self, id: QueryId) -> Option<Arc<PersistedQuery>> {
        if let Some(query) = self.pinned.get(&id) {
            return Some(Arc::clone(query));
        }
        let older = {
            let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(query) = newer.queries.get(&id) {
                return Some(Arc::clone(query));
            }
            older.queries.get(&id).map(Arc::clone)
        };
        older.map(|query| self.keep(query))
    }

    /// Keeps a query, or finds it if it was kept in the meantime: its plans should be made once.
    pub(super) fn keep(&self, query: Arc<PersistedQuery>) -> Arc<PersistedQuery> {
        let [newer, older] = &mut *self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(query) = newer.queries.get(&query.id()) {
            return Arc::clone(query);
        }
        let moved = older.queries.remove(&query.id());
        if let Some(moved) = &moved {
            older.bytes -= moved.text().len();
        }
        let (query, bytes) = (moved.unwrap_or(query), newer.bytes);
        // One that would take all the room is used, but not kept.
        let length = query.text().len();
        if length > self.bytes / 2 || self.entries == 0 {
            return query;
        }
        if newer.queries.len() >= self.entries.div_ceil(2) || bytes + length > self.bytes / 2 {
            *older = std::mem::take(newer);
        }
        newer.bytes += length;
        newer.queries.insert(query.id(), Arc::clone(&query));
        query
    }
}

impl Default for MemoryQueries {
    fn default() -> Self {
        Self::new(Self::ENTRIES, Self::BYTES)
    }
}

#[cfg(test)]
mod tests {
    use mesh_ql::Format;

    use super::*;

    fn query(number: usize, length: usize) -> Arc<PersistedQuery> {
        Arc::new(PersistedQuery::new(Format::Ql, format!("{number:0length$}")))
    }

    #[test]
    fn entries_are_bounded_and_used_ones_stay() {
        let memory = MemoryQueries::new(10, 1 << 20);
        let used = memory.keep(query(0, 5)).id();
        for number in 1..1_000 {
            memory.keep(query(number, 5));
            assert!(memory.find(used).is_some(), "{number}");
            assert!(memory.len() <= 11, "{}", memory.len());
        }
        assert!(memory.find(query(3, 5).id()).is_none());
    }

    #[test]
    fn bytes_are_bounded() {
        let memory = MemoryQueries::new(1_000, 1_000);
        for number in 0..100 {
            memory.keep(query(number, 100));
            let [newer, older] = &*memory.generations.read().unwrap();
            assert!(newer.bytes + older.bytes <= 1_000);
            let count = |it: &Generation| it.queries.values().map(|it| it.text().len()).sum::<usize>();
            assert_eq!((newer.bytes, older.bytes), (count(newer), count(older)));
        }
        let huge = memory.keep(query(1, 501));
        assert!(memory.find(huge.id()).is_none() && !memory.is_empty());
    }

    #[test]
    fn pinned_ones_are_never_driven_out() {
        let mut memory = MemoryQueries::new(2, 1_000);
        memory.pin(PersistedQuery::new(Format::Ql, "pinned"));
        for number in 0..100 {
            memory.keep(query(number, 10));
        }
        assert!(memory.find(QueryId::of(Format::Ql, "pinned")).is_some());
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let memory = MemoryQueries::new(0, 0);
        memory.keep(query(1, 5));
        assert!(memory.is_empty());
    }
}
