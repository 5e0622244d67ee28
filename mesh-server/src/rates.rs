//! How often may somebody ask? Counted for each client address and for each session. `SPEC §12.6`

pub(crate) mod client_address;
pub(crate) mod login_attempts;
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

/// How often requests are let pass, for [`crate::AppBuilder::rates`]; unless told otherwise as often as they come.
///
/// Who has not asked for a while may ask as often at once as a rate has requests, and then again as time passes.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    address: Option<Arc<Limiter>>,
    session: Option<Arc<Limiter>>,
}

impl Rates {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the requests of one client address, or in IPv6 of one network of 64 bits.
    #[must_use]
    pub fn per_address(mut self, rate: Option<Rate>) -> Self {
        self.address = rate.map(|rate| Arc::new(Limiter::new(rate, Ticking::default())));
        self
    }

    /// Limits the requests of one session.
    #[must_use]
    pub fn per_session(mut self, rate: Option<Rate>) -> Self {
        self.session = rate.map(|rate| Arc::new(Limiter::new(rate, Ticking::default())));
        self
    }

    /// Counts a request of that address, or refuses it. Requests without one count as those of one client.
    pub(crate) fn check_address(&self, address: Option<IpAddr>) -> Result<(), WireError> {
        let Some(limiter) = &self.address else { return Ok(()) };
        limiter.count(address.map(counted_address)).map_err(WireError::rate_limit)
    }

    /// Counts a request of that session, or refuses it.
    pub(crate) fn check_session(&self, session: impl Hash) -> Result<(), WireError> {
        let Some(limiter) = &self.session else { return Ok(()) };
        limiter.count(session).map_err(WireError::rate_limit)
    }

    /// Requests that were refused, by address and by session.
    pub fn refused(&self) -> [u64; 2] {
        let refused = |limiter: &Option<Arc<Limiter<Ticking>>>| {
            limiter.as_ref().map_or(0, |limiter| limiter.refused.load(Ordering::Relaxed))
        };
        [refused(&self.address), refused(&self.session)]
    }
}

/// One rate for many keys.
struct Limiter<C: Clock<Instant = Nanos> = Ticking> {
    governor: RateLimiter<u64, Table, C>,
    /// Keys are kept as hashes that nobody outside can foresee.
    keys: RandomState,
    refused: AtomicU64,
}

impl<C: Clock<Instant = Nanos>> Limiter<C> {
    fn new(rate: Rate, clock: C) -> Self {
        let governor = RateLimiter::new(rate.quota(), Table::new(), clock);
        Self { governor, keys: RandomState::new(), refused: AtomicU64::new(0) }
    }

    /// Counts one, or says after how many seconds to try again.
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

/// The time since the limiter was made.
#[derive(Clone, Debug)]
struct Ticking(Instant);

impl Default for Ticking {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Ticking {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        // A moment that is not the first of all, which the table takes for "never".
        Nanos::from(self.0.elapsed() + Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that a test moves.
    #[derive(Clone, Debug, Default)]
    struct Hand(Arc<AtomicU64>);

    impl Clock for Hand {
        type Instant = Nanos;

        fn now(&self) -> Nanos {
            Nanos::from(self.0.load(Ordering::Relaxed))
        }
    }

    impl Hand {
        fn move_on(&self, by: Duration) {
            self.0.fetch_add(u64::try_from(by.as_nanos()).unwrap(), Ordering::Relaxed);
        }
    }

    fn limiter(rate: &str) -> (Limiter<Hand>, Hand) {
        let hand = Hand::default();
        hand.move_on(Duration::from_secs(1));
        (Limiter::new(Rate::parse(rate).unwrap().unwrap(), hand.clone()), hand)
    }

    #[test]
    fn a_burst_passes_and_then_as_many_as_the_rate_says() {
        let (limiter, hand) = limiter("4/s");
        for _ in 0..4 {
            assert_eq!(limiter.count("ada"), Ok(()));
        }
        assert_eq!(limiter.count("ada"), Err(1));
        assert_eq!(limiter.count("bo"), Ok(()), "others are not held up");
        hand.move_on(Duration::from_millis(249));
        assert_eq!(limiter.count("ada"), Err(1));
        hand.move_on(Duration::from_millis(1));
        assert_eq!(limiter.count("ada"), Ok(()));
        assert_eq!(limiter.count("ada"), Err(1));
        hand.move_on(Duration::from_secs(100));
        assert_eq!((0..100).filter(|_| limiter.count("ada").is_ok()).count(), 4, "no more than one burst");
    }

    #[test]
    fn who_is_refused_learns_when_to_come_back() {
        let (limiter, hand) = limiter("2/m");
        assert_eq!([(); 3].map(|()| limiter.count("ada")), [Ok(()), Ok(()), Err(30)]);
        hand.move_on(Duration::from_secs(29));
        assert_eq!(limiter.count("ada"), Err(1));
        hand.move_on(Duration::from_secs(1));
        assert_eq!(limiter.count("ada"), Ok(()));
        assert_eq!(limiter.refused.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_million_addresses_take_no_more_memory_and_free_nobody() {
        let (limiter, _) = limiter("3/h");
        let guilty = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..3 {
            assert_eq!(limiter.count(Some(guilty)), Ok(()));
        }
        assert!(limiter.count(Some(guilty)).is_err());
        let allocated = allocation_counter::measure(|| {
            for number in 0..1_000_000_u32 {
                let _ = limiter.count(Some(IpAddr::from(number.to_be_bytes())));
            }
        });
        assert_eq!(allocated.count_total, 0, "the table never grows");
        // The flood has pushed out those that owe least, not the one who was refused.
        assert!(limiter.count(Some(guilty)).is_err());
    }

    #[test]
    fn without_a_rate_everything_passes() {
        let rates = Rates::new().per_address(Rate::parse("0/s").unwrap());
        assert!((0..10_000).all(|_| rates.check_address(None).is_ok() && rates.check_session("x").is_ok()));
        assert_eq!(rates.refused(), [0, 0]);
    }
}
