//! Ids of requests, and of traces that start here.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// Generates ids: a random number for the process, then a counter.
#[derive(Debug)]
pub(crate) struct Ids {
    process: u64,
    spans: RandomState,
    next: AtomicU64,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self {
            process: RandomState::new().hash_one("request ids"),
            spans: RandomState::new(),
            next: AtomicU64::new(0),
        }
    }

    /// Returns the bytes of a request id.
    pub(crate) fn request_id(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (process, count) = bytes.split_at_mut(8);
        process.copy_from_slice(&self.process.to_be_bytes());
        count.copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes
    }

    /// Returns the id of a span.
    pub(crate) fn span_id(&self) -> u64 {
        self.spans.hash_one(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the id of a trace.
    #[cfg(feature = "otlp")]
    pub(crate) fn trace_id(&self) -> u128 {
        u128::from(self.span_id()) << 64 | u128::from(self.span_id())
    }
}
