//! The statements that are light enough to share a connection, by their earlier runs.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicI8, Ordering};
use std::time::Duration;

use mesh_plan::backend::Generations;

/// The time within which a light statement ends.
const LIGHT_TIME: Duration = Duration::from_millis(20);
/// The maximum bytes of a light statement's rows on a connection that is not shared.
const LIGHT_BYTES: usize = 128 << 10;
/// The number of statements whose weights are kept.
const STATEMENTS: usize = 8_192;
/// The number of light runs after which a new statement is light.
const RUNS_IF_NEW: i8 = 1;
/// The number of light runs after which a heavy statement is light.
pub(super) const RUNS_IF_HEAVY: i8 = 8;
/// The number of light runs that make up for a slow run on a shared connection. On a busy machine, some runs of every
/// statement are slow.
const SLOW_RUN: i8 = 4;
/// The slow runs after which a statement that shares connections is heavy, counted in light runs.
const MAX_SLOW: i8 = 3 * SLOW_RUN;

/// The weights of statements, by a hash of their texts.
pub(crate) struct Weights {
    hasher: RandomState,
    weights: Generations<u64, Arc<Weight>>,
}

/// The weight of a statement: the number of light runs until it shares connections, or, if it shares them, minus the number of
/// light runs that make up for its slow ones.
pub(crate) struct Weight(AtomicI8);

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
            let weight = Arc::new(Weight(AtomicI8::new(RUNS_IF_NEW)));
            self.weights.insert(hash, Arc::clone(&weight), 1);
            weight
        })
    }
}

impl Weight {
    /// Returns whether the statement may share a connection.
    pub(crate) fn is_light(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= 0
    }

    /// Records a run on a connection that was not shared.
    pub(super) fn record_alone(&self, took: Duration, bytes: usize) {
        if took > LIGHT_TIME || bytes > LIGHT_BYTES {
            self.record_heavy(RUNS_IF_HEAVY);
        } else {
            self.record_light();
        }
    }

    /// Records a run on a shared connection.
    pub(super) fn record_shared(&self, took: Duration) {
        let before = self.0.load(Ordering::Relaxed);
        let after = match before {
            // A run that was sent before the statement became heavy does not make it light again.
            1.. => before,
            _ if took <= LIGHT_TIME => (before + 1).min(0),
            _ if before - SLOW_RUN <= -MAX_SLOW => RUNS_IF_HEAVY,
            _ => before - SLOW_RUN,
        };
        if after != before {
            self.0.store(after, Ordering::Relaxed);
        }
    }

    /// Records a run that took too long or returned too much for a shared connection. The statement is light again after this
    /// number of light runs.
    pub(super) fn record_heavy(&self, runs: i8) {
        self.0.store(runs, Ordering::Relaxed);
    }

    /// Counts a light run of a heavy statement. One of several concurrent runs may not count.
    pub(super) fn record_light(&self) {
        let before = self.0.load(Ordering::Relaxed);
        if before > 0 {
            self.0.store(before - 1, Ordering::Relaxed);
        }
    }
}
