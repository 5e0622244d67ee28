//! The classification of statements as light enough to share a connection, by the times of their earlier runs.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mesh_plan::backend::Generations;
use tokio_postgres::Row;

use crate::pool::shared::ROW_BYTES;

/// The time within which a light statement ends.
const LIGHT_TIME: Duration = Duration::from_millis(20);
/// The number of statements whose weights are kept.
const STATEMENTS: usize = 8_192;
/// The number of light runs after which a new statement is light.
const RUNS_IF_NEW: u8 = 1;
/// The number of light runs after which a heavy statement is light.
const RUNS_IF_HEAVY: u8 = 8;
/// The number of fast runs that make up for a slow run on a shared connection. On a busy machine, some runs of every
/// statement are slow.
const SLOW_RUN_SCORE: u8 = 4;
/// The number of slow runs after which a statement that shares connections is heavy, counted in fast runs.
const MAX_SLOW_SCORE: u8 = 3 * SLOW_RUN_SCORE;

/// The weights of statements, by a hash of their texts.
pub(crate) struct Weights {
    hasher: RandomState,
    weights: Generations<u64, Arc<Weight>>,
}

/// The weight of a statement.
pub(crate) struct Weight {
    /// The number of light runs until the statement is light.
    runs_until_light: AtomicU8,
    /// The slow runs on shared connections minus the fast runs since then, counted in fast runs.
    slow_score: AtomicU8,
}

impl Default for Weights {
    fn default() -> Self {
        Self { hasher: RandomState::new(), weights: Generations::new(STATEMENTS) }
    }
}

impl Weights {
    /// Returns the weight of a statement. A statement that is not known is new.
    pub(crate) fn get_or_insert(&self, sql: &str) -> Arc<Weight> {
        let hash = self.hasher.hash_one(sql);
        self.weights.get(&hash).unwrap_or_else(|| {
            let weight = Arc::new(Weight {
                runs_until_light: AtomicU8::new(RUNS_IF_NEW),
                slow_score: AtomicU8::new(0),
            });
            self.weights.insert(hash, Arc::clone(&weight), 1);
            weight
        })
    }
}

impl Weight {
    /// Returns whether the statement may share a connection.
    pub(crate) fn is_light(&self) -> bool {
        self.runs_until_light.load(Ordering::Relaxed) == 0
    }

    /// Records a run that took too long or returned too much for a shared connection.
    pub(super) fn record_heavy(&self) {
        self.runs_until_light.store(RUNS_IF_HEAVY, Ordering::Relaxed);
        self.slow_score.store(0, Ordering::Relaxed);
    }

    /// Records a run of a light statement. One of several concurrent runs may not count.
    pub(crate) fn record_shared(&self, is_slow: bool) {
        let slow = self.slow_score.load(Ordering::Relaxed);
        if is_slow && slow + SLOW_RUN_SCORE >= MAX_SLOW_SCORE {
            self.record_heavy();
        } else if is_slow {
            self.slow_score.store(slow + SLOW_RUN_SCORE, Ordering::Relaxed);
        } else if slow > 0 {
            self.slow_score.store(slow - 1, Ordering::Relaxed);
        }
    }

    /// Records a run on a connection that was not shared.
    pub(super) fn record(&self, took: Duration, rows: &[Row]) {
        let bytes: usize = rows.iter().map(Row::raw_size_bytes).sum();
        if took > LIGHT_TIME || bytes > ROW_BYTES / 2 {
            self.record_heavy();
        } else {
            // One of several concurrent runs may not count.
            self.runs_until_light
                .store(self.runs_until_light.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        }
    }
}
