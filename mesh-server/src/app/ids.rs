//! Ids of requests, and of traces that start here.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// Generates ids: a random number for the process, then a counter.
#[derive(Debug)]
pub(crate) struct Ids {
    process: u64,
    seed: RandomState,
    next: AtomicU64,
}

impl Ids {
    pub(super) fn new() -> Self {
        let seed = RandomState::new();
        Self { process: seed.hash_one("request ids"), seed, next: AtomicU64::new(0) }
    }

    pub(crate) fn request_id(&self) -> [u8; 16] {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        (u128::from(self.process) << 64 | u128::from(count)).to_be_bytes()
    }

    pub(crate) fn span_id(&self) -> u64 {
        self.seed.hash_one(self.next.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn trace_id(&self) -> u128 {
        u128::from(self.span_id()) << 64 | u128::from(self.span_id())
    }
}
