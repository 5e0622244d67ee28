//! Ids of requests, and of traces that start here.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many numbers a thread takes at a time. If all threads wrote to one counter for each request, their cores would wait for
/// each other's caches.
const BLOCK: u64 = 1_024;

/// The first number that no thread has taken.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The next number of this thread; a multiple of [`BLOCK`] if its block is used up.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Returns a number that is unique in this process.
fn unique_number() -> u64 {
    NEXT.with(|next| {
        let mut number = next.get();
        if number % BLOCK == 0 {
            number = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
        }
        next.set(number + 1);
        number
    })
}

/// Generates ids: a random number for the server, then a number of this process.
#[derive(Debug)]
pub(crate) struct Ids {
    server: u64,
    seed: RandomState,
}

impl Ids {
    pub(super) fn new() -> Self {
        let seed = RandomState::new();
        Self { server: seed.hash_one("request ids"), seed }
    }

    pub(crate) fn request_id(&self) -> [u8; 16] {
        (u128::from(self.server) << 64 | u128::from(unique_number())).to_be_bytes()
    }

    pub(crate) fn span_id(&self) -> u64 {
        self.seed.hash_one(unique_number())
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn trace_id(&self) -> u128 {
        u128::from(self.span_id()) << 64 | u128::from(self.span_id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn threads_generate_different_ids() {
        let ids = Ids::new();
        let generate = || (0..3 * BLOCK).map(|_| ids.request_id()).collect::<Vec<_>>();
        let generated = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(generate));
            threads.map(|thread| thread.join().unwrap()).concat()
        });
        assert_eq!(generated.iter().collect::<HashSet<_>>().len(), generated.len());
    }
}
