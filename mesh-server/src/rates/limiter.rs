//! The rate limiter, a generic cell rate algorithm over a table of fixed size: many keys cannot exhaust memory.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_wire::WireError;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use super::rate::Rate;

/// The number of groups of slots. Each group has its own lock.
const GROUPS: usize = 8_192;
/// The number of slots in a group. A key belongs to one group.
const SLOTS: usize = 8;

/// A rate that each key may have. Clones share the counts.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    rate: Rate,
    limiter: Arc<Limiter>,
}

impl RateLimit {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, limiter: Arc::new(Limiter::new()) }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// 429 if the rate is exceeded.
    pub(crate) fn count(&self, key: impl Hash) -> Result<(), WireError> {
        self.limiter.count(key, self.rate, self.limiter.now()).map_err(WireError::rate_limit)
    }

    /// Reverts a counted request.
    pub(crate) fn uncount(&self, key: impl Hash) {
        self.limiter.uncount(key, self.rate);
    }

    pub(crate) fn refused(&self) -> u64 {
        self.limiter.refused()
    }
}

/// Counts the requests of many keys. After a pause, a key may use its whole rate in one burst.
///
/// A new key in a full group replaces the key whose requests are paid off first. A key that is being refused is
/// replaced only if all keys of the group are being refused.
pub(crate) struct Limiter {
    groups: Box<[Mutex<[Slot; SLOTS]>]>,
    /// Keys are stored as hashes with a random seed, so clients cannot cause collisions.
    seed: RandomState,
    start: Instant,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    /// The time at which the counted requests are paid off, one per interval of the rate, since the start of the limiter.
    paid_off: Duration,
}

impl Limiter {
    pub(crate) fn new() -> Self {
        Self {
            groups: (0..GROUPS).map(|_| Mutex::default()).collect(),
            seed: RandomState::new(),
            start: Instant::now(),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the time since the start of the limiter.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Counts a request. Returns the number of seconds until the next attempt if the rate is exceeded.
    pub(crate) fn count(&self, key: impl Hash, rate: Rate, now: Duration) -> Result<(), u32> {
        let Some(mut slot) = self.slot(key) else { return Ok(()) };
        let paid_off = slot.paid_off.max(now) + rate.interval();
        let excess = paid_off.saturating_sub(now + rate.period());
        if excess > Duration::ZERO {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(whole_seconds(excess));
        }
        slot.paid_off = paid_off;
        Ok(())
    }

    /// Reverts a counted request.
    pub(crate) fn uncount(&self, key: impl Hash, rate: Rate) {
        if let Some(mut slot) = self.slot(key) {
            slot.paid_off = slot.paid_off.saturating_sub(rate.interval());
        }
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Locks the slot of a key. The result is `None` only if the table had no slots.
    fn slot(&self, key: impl Hash) -> Option<MappedMutexGuard<'_, Slot>> {
        let key = self.seed.hash_one(key);
        let slots = self.groups.get(key as usize % GROUPS)?.lock();
        let slot = MutexGuard::try_map(slots, |slots| {
            let slot = slots.iter_mut().min_by_key(|slot| (slot.key != key, slot.paid_off))?;
            if slot.key != key {
                *slot = Slot { key, ..Slot::default() };
            }
            Some(slot)
        });
        slot.ok()
    }
}

opaque_debug!(Limiter);

/// Rounds up to whole seconds, at least one.
pub(crate) fn whole_seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Returns a function that counts a request of a key at a time in milliseconds.
    fn limiter(rate: &str) -> impl Fn(&str, u64) -> Result<(), u32> {
        let (limiter, rate) = (Limiter::new(), Rate::parse(rate).unwrap().unwrap());
        move |key, millis| limiter.count(key, rate, Duration::from_millis(millis))
    }

    #[test]
    fn a_burst_is_admitted_and_then_requests_at_the_rate() {
        let count = limiter("4/s");
        for _ in 0..4 {
            assert_eq!(count("ada", 1_000), Ok(()));
        }
        assert_eq!(count("ada", 1_000), Err(1));
        assert_eq!(count("bo", 1_000), Ok(()), "other keys have their own limits");
        assert_eq!(count("ada", 1_249), Err(1));
        assert_eq!(count("ada", 1_250), Ok(()));
        assert_eq!(count("ada", 1_250), Err(1));
        assert_eq!((0..100).filter(|_| count("ada", 100_000).is_ok()).count(), 4, "one burst at most");
    }

    #[test]
    fn a_refusal_states_when_to_retry() {
        let (limiter, rate) = (Limiter::new(), Rate::parse("2/m").unwrap().unwrap());
        let count = |seconds| limiter.count("ada", rate, Duration::from_secs(seconds));
        assert_eq!([(); 3].map(|()| count(1)), [Ok(()), Ok(()), Err(30)]);
        assert_eq!(count(30), Err(1));
        assert_eq!(count(31), Ok(()));
        assert_eq!(limiter.refused(), 2);
    }

    #[test]
    fn reverted_requests_are_not_counted() {
        let (limiter, rate) = (Limiter::new(), Rate::parse("1/h").unwrap().unwrap());
        for _ in 0..3 {
            assert_eq!(limiter.count("ada", rate, Duration::ZERO), Ok(()));
            limiter.uncount("ada", rate);
        }
        assert_eq!(limiter.count("ada", rate, Duration::ZERO), Ok(()));
        assert_eq!(limiter.count("ada", rate, Duration::ZERO), Err(3_600));
    }

    #[test]
    fn a_reverted_request_admits_another() {
        let limit = RateLimit::new(Rate::per_minute(2));
        for _ in 0..10 {
            assert_eq!([limit.count("ada"), limit.count("ada")], [Ok(()), Ok(())]);
            limit.uncount("ada");
            limit.uncount("ada");
        }
        assert_eq!([limit.count("ada"), limit.count("ada")], [Ok(()), Ok(())]);
        assert_eq!(limit.count("ada").unwrap_err().status.as_u16(), 429);
        assert_eq!((limit.count("bo"), limit.refused()), (Ok(()), 1));
    }

    #[test]
    fn a_million_addresses_use_no_more_memory_and_lift_no_limit() {
        let (limiter, rate) = (Limiter::new(), Rate::parse("3/h").unwrap().unwrap());
        let count = |address| limiter.count(Some(address), rate, Duration::ZERO);
        let limited = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..3 {
            assert_eq!(count(limited), Ok(()));
        }
        assert!(count(limited).is_err());
        let allocated = allocation_counter::measure(|| {
            for number in 0..1_000_000_u32 {
                let _ = count(IpAddr::from(number.to_be_bytes()));
            }
        });
        assert_eq!(allocated.count_total, 0, "the table never grows");
        // The slots with the earliest times are replaced first, so the refused address is kept.
        assert!(count(limited).is_err());
    }
}
