//! How does a document keep its maps? In the order in which they were written.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A map whose entries keep their order. Keys are any text; none is special.
///
/// [`Entries::push`] does not look for an equal key: where a key stands twice, loading the document says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries<V>(Vec<(String, V)>);

impl<V> Entries<V> {
    /// Without entries.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends an entry.
    pub fn push(&mut self, key: impl Into<String>, value: V) {
        self.0.push((key.into(), value));
    }

    /// The first value of that key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The first value of that key, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.0.iter_mut().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &V) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
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
