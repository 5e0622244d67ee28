//! A map that keeps the order of its entries.

use serde::{Serialize, Serializer};

/// A map that keeps the order of its entries.
///
/// [`Entries::push`] does not check for duplicate keys; loading a document reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries<V>(Vec<(String, V)>);

impl<V> Entries<V> {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends an entry.
    pub fn push(&mut self, key: impl Into<String>, value: V) {
        self.0.push((key.into(), value));
    }

    /// Returns the first value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Returns a mutable reference to the first value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.0.iter_mut().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Iterates over the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Iterates over the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }
}

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<String>, V> FromIterator<(K, V)> for Entries<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl<V: Serialize> Serialize for Entries<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
