//! A bounded cache with two generations.
//!
//! Entries are added to the newer generation. When that is full, or both together are, it replaces the older one, whose
//! entries are dropped. A hit in the older generation moves the entry to the newer one, so entries in use stay without a
//! list of when each was used.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use parking_lot::RwLock;

/// A bounded cache that threads share. Values are cloned on a hit, so they should be cheap to clone, such as an
/// [`std::sync::Arc`].
///
/// ```
/// use mesh_plan::Generations;
///
/// let cache = Generations::new(1_024);
/// cache.insert("one".to_owned(), 1, 1);
/// assert_eq!(cache.get("one"), Some(1));
/// assert_eq!(cache.get("two"), None);
/// ```
#[derive(Debug)]
pub struct Generations<K, V>(RwLock<LocalGenerations<K, V>>);

impl<K: Hash + Eq, V: Clone> Generations<K, V> {
    /// Creates a cache whose entries have at most this weight in all. What a weight measures, entries or bytes, is
    /// decided by what is passed to [`Generations::insert`]. A cache of capacity 0 keeps nothing.
    pub fn new(capacity: usize) -> Self {
        Self::bounded(usize::MAX, capacity)
    }

    /// Creates a cache of at most `entries` entries, which have at most the weight `capacity` in all.
    pub fn bounded(entries: usize, capacity: usize) -> Self {
        Self(RwLock::new(LocalGenerations::bounded(entries, capacity)))
    }

    /// Returns the value of a key.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        {
            // Most hits are in the newer generation and need no exclusive lock.
            let cache = self.0.read();
            if let Some(entry) = cache.newer.get(key) {
                return Some(entry.value.clone());
            }
            if !cache.older.contains_key(key) {
                return None;
            }
        }
        self.0.write().get_mut(key).cloned()
    }

    /// Adds an entry, or replaces the one with that key. An entry that is heavier than a generation is not kept.
    pub fn insert(&self, key: K, value: V, weight: usize) {
        let displaced = self.0.write().replace(key, value, weight);
        // The lock is released before a whole generation is dropped.
        drop(displaced);
    }

    /// Returns whether an entry of this weight would be kept.
    pub fn accepts(&self, weight: usize) -> bool {
        let cache = self.0.read();
        weight <= cache.capacity.div_ceil(2) && cache.entries > 0
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the weight of all entries.
    pub fn weight(&self) -> usize {
        self.0.read().weight()
    }

    /// Returns the values of all entries.
    pub fn values(&self) -> Vec<V> {
        let cache = self.0.read();
        cache.older.values().chain(cache.newer.values()).map(|entry| entry.value.clone()).collect()
    }
}

/// A bounded cache with one owner, which accesses values by reference.
#[derive(Debug)]
pub struct LocalGenerations<K, V> {
    newer: HashMap<K, Entry<V>, RandomState>,
    older: HashMap<K, Entry<V>, RandomState>,
    newer_weight: usize,
    older_weight: usize,
    /// The number of entries of both generations, at most. One generation has at most half of it, rounded up.
    entries: usize,
    /// The weight of both generations, at most. One generation has at most half of it, rounded up.
    capacity: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    weight: usize,
}

/// The entries that an insertion has displaced.
type Displaced<K, V> = HashMap<K, Entry<V>, RandomState>;

impl<K: Hash + Eq, V> LocalGenerations<K, V> {
    /// Creates a cache whose entries have at most this weight in all.
    pub fn new(capacity: usize) -> Self {
        Self::bounded(usize::MAX, capacity)
    }

    /// Creates a cache of at most `entries` entries, which have at most the weight `capacity` in all.
    pub fn bounded(entries: usize, capacity: usize) -> Self {
        let (newer, older) = Default::default();
        Self { newer, older, newer_weight: 0, older_weight: 0, entries, capacity }
    }

    /// Returns the value of a key.
    pub fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if !self.newer.contains_key(key) {
            let (key, entry) = self.older.remove_entry(key)?;
            self.older_weight -= entry.weight;
            drop(self.add(key, entry));
        }
        self.newer.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Adds an entry, or replaces the one with that key. An entry that is heavier than a generation is not kept.
    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        drop(self.replace(key, value, weight));
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.newer.len() + self.older.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the weight of all entries.
    pub fn weight(&self) -> usize {
        self.newer_weight + self.older_weight
    }

    fn replace(&mut self, key: K, value: V, weight: usize) -> Displaced<K, V> {
        if let Some(entry) = self.newer.remove(&key) {
            self.newer_weight -= entry.weight;
        } else if let Some(entry) = self.older.remove(&key) {
            self.older_weight -= entry.weight;
        }
        if weight > self.capacity.div_ceil(2) || self.entries == 0 {
            return Displaced::default();
        }
        self.add(key, Entry { value, weight })
    }

    /// Adds an entry whose key is in neither generation.
    fn add(&mut self, key: K, entry: Entry<V>) -> Displaced<K, V> {
        let mut displaced = Displaced::default();
        let newer = self.newer_weight.saturating_add(entry.weight);
        let is_full = newer > self.capacity.div_ceil(2) || self.newer.len() >= self.entries.div_ceil(2);
        if is_full || self.exceeds_with(&entry) {
            displaced = std::mem::replace(&mut self.older, std::mem::take(&mut self.newer));
            self.older_weight = std::mem::take(&mut self.newer_weight);
        }
        // Two halves of an odd bound exceed it.
        if self.exceeds_with(&entry) {
            displaced.extend(self.older.drain());
            self.older_weight = 0;
        }
        self.newer_weight += entry.weight;
        self.newer.insert(key, entry);
        displaced
    }

    /// Returns whether both generations and another entry would exceed a bound.
    fn exceeds_with(&self, entry: &Entry<V>) -> bool {
        self.weight().saturating_add(entry.weight) > self.capacity || self.len() >= self.entries
    }
}
