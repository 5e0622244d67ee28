//! Counts of held resources by key. A key is stored only as long as something is held for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts by key.
#[derive(Debug)]
pub(crate) struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K: Copy + Eq + Hash> Counts<K> {
    /// Adds one to the count of a key until the returned value is dropped. Returns `None` if that would exceed `max`, which is
    /// at least 1.
    pub(crate) fn acquire(self: &Arc<Self>, key: K, max: usize) -> Option<CountGuard<K>> {
        let mut counts = self.0.lock();
        let count = counts.get(&key).copied().unwrap_or_default();
        if count >= max.max(1) {
            return None;
        }
        counts.insert(key, count + 1);
        Some(CountGuard { counts: Arc::clone(self), key })
    }

    /// Returns the largest count.
    pub(super) fn max_count(&self) -> usize {
        self.0.lock().values().copied().max().unwrap_or_default()
    }

    /// Returns the number of keys.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A resource that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard<K: Copy + Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> Drop for CountGuard<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        match counts.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_count_until_they_are_dropped() {
        let counts = Arc::new(Counts::default());
        let first = counts.acquire("ada", 2).unwrap();
        let _second = counts.acquire("ada", 2).unwrap();
        assert!(counts.acquire("ada", 2).is_none());
        let bo = counts.acquire("bo", 2).unwrap();
        assert_eq!(counts.max_count(), 2);
        drop((first, bo));
        assert_eq!((counts.max_count(), counts.len()), (1, 1), "a key without resources is forgotten");
        assert!(counts.acquire("ada", 2).is_some());
    }

    #[test]
    fn a_limit_of_0_counts_as_1() {
        let counts = Arc::new(Counts::default());
        let _first = counts.acquire("ada", 0).unwrap();
        assert!(counts.acquire("ada", 0).is_none());
    }
}
