//! A bounded cache with two generations.
//!
//! Entries are added to the newer generation. When both together are full, the newer one replaces the older one, whose
//! entries are dropped. A hit in the older generation moves the entry to the newer one while that is at most half full; else
//! the entry is marked and moved when the older generation is dropped. This keeps entries in use without tracking when each
//! was used.

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
/// use mesh_plan::backend::Generations;
///
/// let cache = Generations::new(1_024);
/// cache.insert("one".to_owned(), 1, 1);
/// assert_eq!(cache.get("one"), Some(1));
/// assert_eq!(cache.get("two"), None);
/// ```
#[derive(Debug)]
pub struct Generations<K, V>(RwLock<LocalGenerations<K, V>>);

impl<K: Hash + Eq, V: Clone> Generations<K, V> {
    /// Creates a cache whose entries have at most this total weight. The weights that are passed to [`Generations::insert`]
    /// determine the unit, such as entries or bytes. A cache of capacity 0 keeps nothing.
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
            let entry = cache.older.get(key)?;
            if entry.used {
                return Some(entry.value.clone());
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
        self.0.read().accepts(weight)
    }

    /// Removes all entries.
    pub fn clear(&self) {
        let mut cache = self.0.write();
        *cache = LocalGenerations::bounded(cache.entries, cache.capacity);
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
    /// The largest number of entries of both generations.
    entries: usize,
    /// The largest weight of both generations.
    capacity: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    weight: usize,
    /// Whether the entry was hit in the older generation and could not be moved.
    used: bool,
}

/// The entries that an insertion has displaced.
type DisplacedEntries<K, V> = HashMap<K, Entry<V>, RandomState>;

impl<K: Hash + Eq, V> LocalGenerations<K, V> {
    /// Creates a cache whose entries have at most this total weight.
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
            let weight = self.older.get(key)?.weight;
            if !self.has_room_in_newer(weight) {
                let entry = self.older.get_mut(key)?;
                entry.used = true;
                return Some(&mut entry.value);
            }
            let (key, entry) = self.older.remove_entry(key)?;
            self.older_weight -= weight;
            self.newer_weight += weight;
            self.newer.insert(key, entry);
        }
        self.newer.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Adds an entry, or replaces the one with that key. An entry that is heavier than a generation is not kept.
    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        drop(self.replace(key, value, weight));
    }

    /// Adds an entry as [`Self::insert`] does, and returns the values that it displaces.
    pub fn displace(&mut self, key: K, value: V, weight: usize) -> impl Iterator<Item = V> + use<K, V> {
        self.replace(key, value, weight).into_values().map(|entry| entry.value)
    }

    /// Returns whether an entry of this weight would be kept.
    pub fn accepts(&self, weight: usize) -> bool {
        weight <= self.capacity.div_ceil(2) && self.entries > 0
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

    fn replace(&mut self, key: K, value: V, weight: usize) -> DisplacedEntries<K, V> {
        if let Some(entry) = self.newer.remove(&key) {
            self.newer_weight -= entry.weight;
        } else if let Some(entry) = self.older.remove(&key) {
            self.older_weight -= entry.weight;
        }
        if weight > self.capacity.div_ceil(2) || self.entries == 0 {
            return DisplacedEntries::default();
        }
        self.add(key, Entry { value, weight, used: false })
    }

    /// Adds an entry whose key is in neither generation.
    fn add(&mut self, key: K, entry: Entry<V>) -> DisplacedEntries<K, V> {
        let mut displaced = DisplacedEntries::default();
        let is_full = self.is_over_limit_with(entry.weight);
        if is_full || self.older.is_empty() && !self.has_room_in_newer(entry.weight) {
            displaced = std::mem::replace(&mut self.older, std::mem::take(&mut self.newer));
            self.older_weight = std::mem::take(&mut self.newer_weight);
            if self.is_over_limit_with(entry.weight) {
                displaced.extend(self.older.drain());
                self.older_weight = 0;
            }
            self.promote_used(&mut displaced, entry.weight);
        }
        self.newer_weight += entry.weight;
        self.newer.insert(key, entry);
        displaced
    }

    /// Moves displaced entries that were used to the newer generation, as many as fit in addition to a new entry.
    fn promote_used(&mut self, displaced: &mut DisplacedEntries<K, V>, new_weight: usize) {
        let (mut count, mut weight) = (self.len() + 1, self.weight() + new_weight);
        let (mut newer_count, mut newer_weight) = (1, new_weight);
        let used = displaced.extract_if(|_, entry| {
            let fits = entry.used
                && count < self.entries
                && newer_count < self.entries.div_ceil(2)
                && weight + entry.weight <= self.capacity
                && newer_weight + entry.weight <= self.capacity.div_ceil(2);
            if fits {
                count += 1;
                newer_count += 1;
                weight += entry.weight;
                newer_weight += entry.weight;
            }
            fits
        });
        self.newer.extend(used.map(|(key, entry)| (key, Entry { used: false, ..entry })));
        self.newer_weight = newer_weight - new_weight;
    }

    /// Returns whether the newer generation would still be at most half of the cache with another entry of this weight.
    fn has_room_in_newer(&self, weight: usize) -> bool {
        self.newer_weight.saturating_add(weight) <= self.capacity.div_ceil(2)
            && self.newer.len() < self.entries.div_ceil(2)
    }

    /// Returns whether both generations and another entry of this weight would exceed a bound.
    fn is_over_limit_with(&self, weight: usize) -> bool {
        self.weight().saturating_add(weight) > self.capacity || self.len() >= self.entries
    }
}
