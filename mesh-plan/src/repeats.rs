//! Which statements come again.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

use crate::cache::Cache;

/// The number of texts that are remembered, a few times as many as plans are cached.
const TEXTS: usize = 4_096;

/// The texts of recent statements, by their hashes. A database keeps a prepared statement in memory until it is closed, so a
/// statement that never comes again must not be kept.
#[derive(Debug)]
pub struct Repeats {
    hasher: RandomState,
    seen: Cache<u64, ()>,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { hasher: RandomState::default(), seen: Cache::new(TEXTS) }
    }
}

impl Repeats {
    /// Remembers a text. Returns whether it was remembered already.
    pub fn is_repeat(&self, text: &str) -> bool {
        let hash = self.hasher.hash_one(text);
        let is_repeat = self.seen.get(&hash).is_some();
        if !is_repeat {
            self.seen.insert(hash, (), 1);
        }
        is_repeat
    }
}
