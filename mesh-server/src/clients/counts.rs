//! Counts of held resources by key. A key is stored only as long as something is held for it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts by key.
pub(crate) struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K: Copy + Eq + Hash> Counts<K> {
    /// Adds to the count of a key until the returned value is dropped. Returns `None` if that would exceed `max`. If
    /// nothing is held for the key, any amount is accepted.
    pub(super) fn acquire(self: &Arc<Self>, key: K, amount: usize, max: usize) -> Option<CountGuard<K>> {
        let mut counts = self.0.lock();
        let count = counts.entry(key).or_default();
        if *count > 0 && count.saturating_add(amount) > max {
            return None;
        }
        *count = count.saturating_add(amount);
        Some(CountGuard { counts: Arc::clone(self), key, amount })
    }

    fn add(&self, key: K, amount: usize) {
        let mut counts = self.0.lock();
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(amount);
    }

    fn subtract(&self, key: K, amount: usize) {
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(&key) {
            *count = count.saturating_sub(amount);
            if *count == 0 {
                counts.remove(&key);
            }
        }
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

impl<K> fmt::Debug for Counts<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").field("keys", &self.0.lock().len()).finish_non_exhaustive()
    }
}

/// An amount that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard<K: Copy + Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
    amount: usize,
}

impl<K: Copy + Eq + Hash> CountGuard<K> {
    /// Raises the amount, even above the limit.
    pub(super) fn grow_to(&mut self, amount: usize) {
        let missing = amount.saturating_sub(self.amount);
        self.counts.add(self.key, missing);
        self.amount += missing;
    }

    /// Reduces the amount, which must not be zero afterwards.
    pub(super) fn shrink_to(&mut self, amount: usize) {
        let excess = self.amount.saturating_sub(amount.max(1));
        self.counts.subtract(self.key, excess);
        self.amount -= excess;
    }
}

impl<K: Copy + Eq + Hash> Drop for CountGuard<K> {
    fn drop(&mut self) {
        self.counts.subtract(self.key, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_count_until_they_are_dropped() {
        let counts = Arc::new(Counts::default());
        let mut first = counts.acquire("ada", 6, 10).unwrap();
        assert!(counts.acquire("ada", 5, 10).is_none());
        let _bo = counts.acquire("bo", 5, 10).unwrap();
        assert_eq!(counts.max_count(), 6);
        first.shrink_to(5);
        let second = counts.acquire("ada", 5, 10).unwrap();
        drop((first, second));
        assert_eq!(counts.len(), 1, "a key without an amount is forgotten");
    }

    #[test]
    fn a_single_amount_may_exceed_the_limit() {
        let counts = Arc::new(Counts::default());
        let large = counts.acquire("ada", 100, 10).unwrap();
        assert!(counts.acquire("ada", 1, 10).is_none());
        drop(large);
        assert!(counts.acquire("ada", 1, 10).is_some());
    }
}
