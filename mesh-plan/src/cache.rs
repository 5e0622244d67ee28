//! Bounded caches, which drop the entries that have not been used for the longest time.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;

use foldhash::fast::RandomState;
use hashlink::LinkedHashMap;
use parking_lot::Mutex;

/// A bounded cache that threads share. Values are cloned on a hit, so they should be cheap to clone, such as an
/// [`std::sync::Arc`].
///
/// ```
/// use mesh_plan::backend::Cache;
///
/// let cache = Cache::new(1_024);
/// cache.insert("one".to_owned(), 1, 1);
/// assert_eq!(cache.get("one"), Some(1));
/// assert_eq!(cache.get("two"), None);
/// ```
#[derive(Debug)]
pub struct Cache<K: Hash + Eq, V>(Mutex<LocalCache<K, V>>);

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// Creates a cache whose entries have at most this total weight. The weights that are passed to [`Cache::insert`]
    /// determine the unit, such as entries or bytes. A cache of capacity 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self::bounded(usize::MAX, capacity)
    }

    /// Creates a cache of at most `entries` entries, which have at most the weight `capacity` in all.
    pub fn bounded(entries: usize, capacity: usize) -> Self {
        Self(Mutex::new(LocalCache::bounded(entries, capacity)))
    }

    /// Returns the value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.lock().get_mut(key).cloned()
    }

    /// Adds an entry, or replaces the one with that key. An entry that takes more than half of the cache is not kept.
    pub fn insert(&self, key: K, value: V, weight: usize) {
        let displaced = self.0.lock().insert(key, value, weight);
        // The lock is released before values are dropped.
        drop(displaced);
    }

    /// Returns whether an entry of this weight would be kept.
    pub fn accepts(&self, weight: usize) -> bool {
        self.0.lock().accepts(weight)
    }

    /// Removes all entries.
    pub fn clear(&self) {
        let mut cache = self.0.lock();
        *cache = LocalCache::bounded(cache.max_entries, cache.max_weight);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the weight of all entries.
    pub fn weight(&self) -> usize {
        self.0.lock().weight()
    }

    /// Returns the values of all entries.
    pub fn values(&self) -> Vec<V> {
        self.0.lock().entries.values().map(|entry| entry.value.clone()).collect()
    }
}

/// A bounded cache with one owner, which accesses values by reference.
pub struct LocalCache<K, V> {
    /// The entry that has not been used for the longest time comes first.
    entries: LinkedHashMap<K, Entry<V>, RandomState>,
    weight: usize,
    max_entries: usize,
    max_weight: usize,
}

struct Entry<V> {
    value: V,
    weight: usize,
}

impl<K: Hash + Eq, V> LocalCache<K, V> {
    /// Creates a cache whose entries have at most this total weight.
    pub fn new(capacity: usize) -> Self {
        Self::bounded(usize::MAX, capacity)
    }

    /// Creates a cache of at most `entries` entries, which have at most the weight `capacity` in all.
    pub fn bounded(entries: usize, capacity: usize) -> Self {
        let (max_entries, max_weight) = (entries, capacity);
        Self { entries: LinkedHashMap::default(), weight: 0, max_entries, max_weight }
    }

    /// Returns the value of a key.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.to_back(key).map(|entry| &mut entry.value)
    }

    /// Adds an entry, or replaces the one with that key. An entry that takes more than half of the cache is not kept. Returns
    /// the values of other entries that are dropped in its favour.
    pub fn insert(&mut self, key: K, value: V, weight: usize) -> Vec<V> {
        if let Some(replaced) = self.entries.remove(&key) {
            self.weight -= replaced.weight;
        }
        if !self.accepts(weight) {
            return Vec::new();
        }
        let mut displaced = Vec::new();
        while self.weight.saturating_add(weight) > self.max_weight || self.entries.len() >= self.max_entries {
            let Some((_, oldest)) = self.entries.pop_front() else { break };
            self.weight -= oldest.weight;
            displaced.push(oldest.value);
        }
        self.weight += weight;
        self.entries.insert(key, Entry { value, weight });
        displaced
    }

    /// Returns whether an entry of this weight would be kept.
    pub fn accepts(&self, weight: usize) -> bool {
        weight <= self.max_weight.div_ceil(2) && self.max_entries > 0
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the weight of all entries.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

impl<K: Hash + Eq, V> fmt::Debug for LocalCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.len();
        f.debug_struct("LocalCache")
            .field("entries", &entries)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}
