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
    pub(super) fn hold(self: &Arc<Self>, key: K, amount: usize, max: usize) -> Option<Held<K>> {
        let mut counts = self.0.lock();
        let count = counts.entry(key).or_default();
        if *count > 0 && count.saturating_add(amount) > max {
            return None;
        }
        *count = count.saturating_add(amount);
        Some(Held { counts: Arc::clone(self), key, amount })
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
    pub(super) fn most(&self) -> usize {
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
pub(crate) struct Held<K: Copy + Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
    amount: usize,
}

impl<K: Copy + Eq + Hash> Held<K> {
    /// Reduces the amount, which must not be zero afterwards.
    pub(super) fn shrink_to(&mut self, amount: usize) {
        let excess = self.amount.saturating_sub(amount.max(1));
        self.counts.subtract(self.key, excess);
        self.amount -= excess;
    }
}

impl<K: Copy + Eq + Hash> Drop for Held<K> {
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
        let mut first = counts.hold("ada", 6, 10).unwrap();
        assert!(counts.hold("ada", 5, 10).is_none());
        let _bo = counts.hold("bo", 5, 10).unwrap();
        assert_eq!(counts.most(), 6);
        first.shrink_to(5);
        let second = counts.hold("ada", 5, 10).unwrap();
        drop((first, second));
        assert_eq!(counts.len(), 1, "a key without an amount is forgotten");
    }

    #[test]
    fn a_single_amount_may_exceed_the_limit() {
        let counts = Arc::new(Counts::default());
        let large = counts.hold("ada", 100, 10).unwrap();
        assert!(counts.hold("ada", 1, 10).is_none());
        drop(large);
        assert!(counts.hold("ada", 1, 10).is_some());
    }
}
