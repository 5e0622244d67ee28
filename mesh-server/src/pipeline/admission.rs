//! The limit on requests that wait at a time.
//!
//! A request beyond the limit is refused at once: it would only wait for those before it, and hold memory until its
//! client gives up.

use std::sync::Arc;

use mesh_wire::WireError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Seconds until a client should retry.
const RETRY_AFTER: u32 = 1;

/// The number of requests that may wait. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionLimit(Arc<Semaphore>);

impl AdmissionLimit {
    /// Creates a limit of this many requests.
    pub(crate) fn new(requests: usize) -> Self {
        Self(Arc::new(Semaphore::new(requests.min(Semaphore::MAX_PERMITS))))
    }

    /// Admits a request until the permit is dropped.
    ///
    /// # Errors
    /// 503 if the limit is reached.
    pub(crate) fn acquire(&self) -> Result<OwnedSemaphorePermit, WireError> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| WireError::unavailable(RETRY_AFTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_beyond_the_limit_are_refused_until_a_permit_is_dropped() {
        let limit = AdmissionLimit::new(2);
        let (first, _second) = (limit.acquire().unwrap(), limit.acquire().unwrap());
        for _ in 0..3 {
            assert_eq!(limit.clone().acquire().err().map(|error| error.status.as_u16()), Some(503));
        }
        drop(first);
        let third = limit.acquire();
        assert!(third.is_ok() && limit.acquire().is_err());
    }
}
