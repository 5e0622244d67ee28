//! Rate limits per client address and per session. `SPEC §12.6`

pub(crate) mod client_address;
pub(crate) mod failure_limiter;
pub(crate) mod limiter;
pub(crate) mod rate;

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use mesh_wire::WireError;

use client_address::counted_address;
use failure_limiter::FailureLimiter;
use limiter::Limiter;
use rate::Rate;

/// Rate limits for [`crate::AppBuilder::rates`]. By default only invalid credentials are limited. Clones share the counts,
/// so pass clones of one value to applications that replace each other.
///
/// After a pause a client may send all requests of a rate in one burst; further requests are admitted at that rate.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    address: Option<(Rate, Arc<Limiter>)>,
    session: Option<(Rate, Arc<Limiter>)>,
    pub(crate) failures: Arc<FailureLimiter>,
}

impl Rates {
    /// The default of [`Self::invalid_credentials_per_minute`].
    pub const INVALID_CREDENTIALS_PER_MINUTE: u32 = FailureLimiter::PER_MINUTE;

    /// Creates rate limits that admit every request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the requests of each client address; in IPv6, of each /64 network.
    #[must_use]
    pub fn per_address(mut self, rate: Option<Rate>) -> Self {
        self.address = rate.map(|rate| (rate, Arc::new(Limiter::new())));
        self
    }

    /// Limits the requests of each session.
    #[must_use]
    pub fn per_session(mut self, rate: Option<Rate>) -> Self {
        self.session = rate.map(|rate| (rate, Arc::new(Limiter::new())));
        self
    }

    /// Sets how many invalid bearer tokens and API keys one client address may present per minute; in IPv6, one /64 network.
    /// The default is [`Self::INVALID_CREDENTIALS_PER_MINUTE`].
    #[must_use]
    pub fn invalid_credentials_per_minute(mut self, limit: u32) -> Self {
        self.failures = Arc::new(FailureLimiter::new(limit));
        self
    }

    /// Counts a request from an address. All requests without an address share one limit.
    ///
    /// # Errors
    /// 429 if the limit of the address is reached.
    pub(crate) fn check_address(&self, address: Option<IpAddr>) -> Result<(), WireError> {
        check(self.address.as_ref(), address.map(counted_address))
    }

    /// Counts a request of a session.
    ///
    /// # Errors
    /// 429 if the limit of the session is reached.
    pub(crate) fn check_session(&self, session: impl Hash) -> Result<(), WireError> {
        check(self.session.as_ref(), session)
    }

    /// Returns the number of requests that were refused by address and by session.
    pub fn refused(&self) -> [u64; 2] {
        [&self.address, &self.session].map(|limit| limit.as_ref().map_or(0, |(_, limiter)| limiter.refused()))
    }
}

fn check(limit: Option<&(Rate, Arc<Limiter>)>, key: impl Hash) -> Result<(), WireError> {
    let Some((rate, limiter)) = limit else { return Ok(()) };
    limiter.count(key, *rate, limiter.now()).map_err(WireError::rate_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_rate_every_request_is_admitted() {
        let rates = Rates::new().per_address(Rate::parse("0/s").unwrap());
        assert!((0..10_000).all(|_| rates.check_address(None).is_ok() && rates.check_session("x").is_ok()));
        assert_eq!(rates.refused(), [0, 0]);
    }
}
