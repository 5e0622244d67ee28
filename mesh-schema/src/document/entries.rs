//! A map that keeps the order of its entries.

use serde::ser::{Serialize, SerializeMap, Serializer};

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

    /// Keeps the entries for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &V) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// Iterates over the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Iterates over the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
