//! How many requests may wait at a time? A bound, past which a request is refused at once: it would only wait for
//! those before it, and hold memory meanwhile, until its client has left.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mesh_wire::WireError;

/// When a refused request may be tried again, in seconds.
const AGAIN: u32 = 1;

/// The requests that wait. All clones are one.
#[derive(Clone)]
pub(crate) struct AdmissionLimit {
    counts: Arc<Counts>,
    most: usize,
}

#[derive(Default)]
struct Counts {
    now: AtomicUsize,
    refused: AtomicU64,
}

impl AdmissionLimit {
    /// So many at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { counts: Arc::default(), most }
    }

    /// Lets a request wait, until the value is dropped, or refuses it.
    pub(crate) fn acquire(&self) -> Result<Permit, WireError> {
        // Counted before it is compared, so that of two who come at once only one takes the last place.
        let turn = Permit(Arc::clone(&self.counts));
        if self.counts.now.fetch_add(1, Ordering::Relaxed) < self.most {
            return Ok(turn);
        }
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        Err(WireError::unavailable(AGAIN))
    }
}

impl fmt::Debug for AdmissionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.counts.now.load(Ordering::Relaxed);
        f.debug_struct("AdmissionLimit").field("now", &now).field("most", &self.most).finish_non_exhaustive()
    }
}

/// One request that waits.
pub(crate) struct Permit(Arc<Counts>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_places_come_back() {
        let waiting = AdmissionLimit::new(2);
        let (first, _second) = (waiting.acquire().unwrap(), waiting.acquire().unwrap());
        for _ in 0..3 {
            assert_eq!(waiting.clone().acquire().err().map(|error| error.status.as_u16()), Some(503));
        }
        drop(first);
        let third = waiting.acquire();
        assert!(third.is_ok() && waiting.acquire().is_err());
        assert_eq!(waiting.counts.refused.load(Ordering::Relaxed), 4);
    }
}
