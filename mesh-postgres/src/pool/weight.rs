//! Which statements are light enough to share a connection, by the time that they took before.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mesh_plan::Generations;
use tokio_postgres::Row;

use crate::pool::shared::ROW_BYTES;

/// The time within which a light statement ends.
const LIGHT: Duration = Duration::from_millis(20);
/// The number of statements whose weights are kept.
const STATEMENTS: usize = 8_192;
/// The light runs after which a new statement is light.
const NEW: u8 = 1;
/// The light runs in sequence after which a heavy statement is light.
const HEAVY: u8 = 8;

/// The weights of statements, by a hash of their texts.
pub(crate) struct Weights {
    hasher: RandomState,
    weights: Generations<u64, Arc<Weight>>,
}

/// The weight of a statement: the number of light runs until it is light.
pub(crate) struct Weight(AtomicU8);

impl Default for Weights {
    fn default() -> Self {
        Self { hasher: RandomState::new(), weights: Generations::new(STATEMENTS) }
    }
}

impl Weights {
    /// Returns the weight of a statement.
    pub(crate) fn of(&self, sql: &str) -> Arc<Weight> {
        let hash = self.hasher.hash_one(sql);
        self.weights.get(&hash).unwrap_or_else(|| {
            let weight = Arc::new(Weight(AtomicU8::new(NEW)));
            self.weights.insert(hash, Arc::clone(&weight), 1);
            weight
        })
    }
}

impl Weight {
    /// Whether the statement may share a connection.
    pub(crate) fn is_light(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Records a run that took too long or returned too much for a shared connection.
    pub(super) fn record_heavy(&self) {
        self.0.store(HEAVY, Ordering::Relaxed);
    }

    /// Records a run on a connection that was not shared.
    pub(super) fn record(&self, took: Duration, rows: &[Row]) {
        let bytes: usize = rows.iter().map(Row::raw_size_bytes).sum();
        if took > LIGHT || bytes > ROW_BYTES / 2 {
            self.record_heavy();
        } else {
            // One of several concurrent runs may not count.
            self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        }
    }
}
