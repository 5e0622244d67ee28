//! Rate limits per client address and per session. `SPEC §12.6`

pub(crate) mod client_address;
mod rate;
mod table;

use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use governor::RateLimiter;
use governor::clock::Clock;
use governor::nanos::Nanos;
use mesh_wire::WireError;

use client_address::counted_address;
pub use rate::{Rate, RateError};
use table::Table;

/// Rate limits for [`crate::AppBuilder::rates`]. By default there are none.
///
/// After a pause a client may send all requests of a rate in one burst; further requests are admitted at that rate.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    address: Option<Arc<Limiter>>,
    session: Option<Arc<Limiter>>,
}

impl Rates {
    /// Creates rate limits that admit every request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the requests of each client address; in IPv6, of each /64 network.
    #[must_use]
    pub fn per_address(mut self, rate: Option<Rate>) -> Self {
        self.address = rate.map(|rate| Arc::new(Limiter::new(rate, SteadyClock::default())));
        self
    }

    /// Limits the requests of each session.
    #[must_use]
    pub fn per_session(mut self, rate: Option<Rate>) -> Self {
        self.session = rate.map(|rate| Arc::new(Limiter::new(rate, SteadyClock::default())));
        self
    }

    /// Counts a request from an address. All requests without an address share one limit.
    ///
    /// # Errors
    /// 429 if the limit of the address is reached.
    pub(crate) fn check_address(&self, address: Option<IpAddr>) -> Result<(), WireError> {
        let Some(limiter) = &self.address else { return Ok(()) };
        limiter.count(address.map(counted_address)).map_err(WireError::rate_limit)
    }

    /// Counts a request of a session.
    ///
    /// # Errors
    /// 429 if the limit of the session is reached.
    pub(crate) fn check_session(&self, session: impl Hash) -> Result<(), WireError> {
        let Some(limiter) = &self.session else { return Ok(()) };
        limiter.count(session).map_err(WireError::rate_limit)
    }

    /// Returns the number of requests that were refused by address and by session.
    pub fn refused(&self) -> [u64; 2] {
        let refused = |limiter: &Option<Arc<Limiter<SteadyClock>>>| {
            limiter.as_ref().map_or(0, |limiter| limiter.refused.load(Ordering::Relaxed))
        };
        [refused(&self.address), refused(&self.session)]
    }
}

/// A rate limit for each of many keys.
struct Limiter<C: Clock<Instant = Nanos> = SteadyClock> {
    governor: RateLimiter<u64, Table, C>,
    /// Keys are stored as hashes with a random seed, so clients cannot cause collisions.
    keys: RandomState,
    refused: AtomicU64,
}

impl<C: Clock<Instant = Nanos>> Limiter<C> {
    fn new(rate: Rate, clock: C) -> Self {
        let governor = RateLimiter::new(rate.quota(), Table::new(), clock);
        Self { governor, keys: RandomState::new(), refused: AtomicU64::new(0) }
    }

    /// Counts a request. Returns the number of seconds until the next attempt if the limit is reached.
    fn count(&self, key: impl Hash) -> Result<(), u32> {
        self.governor.check_key(&self.keys.hash_one(key)).map_err(|not_until| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let wait = not_until.wait_time_from(self.governor.clock().now());
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
        })
    }
}

impl<C: Clock<Instant = Nanos>> fmt::Debug for Limiter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("refused", &self.refused).finish_non_exhaustive()
    }
}

/// A clock that starts with the limiter.
#[derive(Clone, Debug)]
struct SteadyClock(Instant);

impl Default for SteadyClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SteadyClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        // In the table 0 marks an unused slot.
        Nanos::from(self.0.elapsed() + Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that a test advances.
    #[derive(Clone, Debug, Default)]
    struct ManualClock(Arc<AtomicU64>);

    impl Clock for ManualClock {
        type Instant = Nanos;

        fn now(&self) -> Nanos {
            Nanos::from(self.0.load(Ordering::Relaxed))
        }
    }

    impl ManualClock {
        fn advance(&self, time: Duration) {
            self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap(), Ordering::Relaxed);
        }
    }

    fn limiter(rate: &str) -> (Limiter<ManualClock>, ManualClock) {
        let clock = ManualClock::default();
        clock.advance(Duration::from_secs(1));
        (Limiter::new(Rate::parse(rate).unwrap().unwrap(), clock.clone()), clock)
    }

    #[test]
    fn a_burst_is_admitted_and_then_requests_at_the_rate() {
        let (limiter, clock) = limiter("4/s");
        for _ in 0..4 {
            assert_eq!(limiter.count("ada"), Ok(()));
        }
        assert_eq!(limiter.count("ada"), Err(1));
        assert_eq!(limiter.count("bo"), Ok(()), "other keys have their own limits");
        clock.advance(Duration::from_millis(249));
        assert_eq!(limiter.count("ada"), Err(1));
        clock.advance(Duration::from_millis(1));
        assert_eq!(limiter.count("ada"), Ok(()));
        assert_eq!(limiter.count("ada"), Err(1));
        clock.advance(Duration::from_secs(100));
        assert_eq!((0..100).filter(|_| limiter.count("ada").is_ok()).count(), 4, "one burst at most");
    }

    #[test]
    fn a_refusal_states_when_to_retry() {
        let (limiter, clock) = limiter("2/m");
        assert_eq!([(); 3].map(|()| limiter.count("ada")), [Ok(()), Ok(()), Err(30)]);
        clock.advance(Duration::from_secs(29));
        assert_eq!(limiter.count("ada"), Err(1));
        clock.advance(Duration::from_secs(1));
        assert_eq!(limiter.count("ada"), Ok(()));
        assert_eq!(limiter.refused.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_million_addresses_use_no_more_memory_and_lift_no_limit() {
        let (limiter, _) = limiter("3/h");
        let limited = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..3 {
            assert_eq!(limiter.count(Some(limited)), Ok(()));
        }
        assert!(limiter.count(Some(limited)).is_err());
        let allocated = allocation_counter::measure(|| {
            for number in 0..1_000_000_u32 {
                let _ = limiter.count(Some(IpAddr::from(number.to_be_bytes())));
            }
        });
        assert_eq!(allocated.count_total, 0, "the table never grows");
        // The slots with the earliest times are replaced first, so the refused address is kept.
        assert!(limiter.count(Some(limited)).is_err());
    }

    #[test]
    fn without_a_rate_every_request_is_admitted() {
        let rates = Rates::new().per_address(Rate::parse("0/s").unwrap());
        assert!((0..10_000).all(|_| rates.check_address(None).is_ok() && rates.check_session("x").is_ok()));
        assert_eq!(rates.refused(), [0, 0]);
    }
}
