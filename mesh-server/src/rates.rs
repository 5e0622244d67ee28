//! Rate limits per client address and per session. `SPEC §12.6`

pub(crate) mod client_address;
pub(crate) mod limiter;
pub(crate) mod rate;

use std::hash::Hash;
use std::net::IpAddr;

use mesh_wire::WireError;

use client_address::counted_address;
use limiter::RateLimit;
use rate::Rate;

/// Rate limits for [`crate::AppOptions::rates`]. By default only invalid credentials are limited. Clones share the counts,
/// so pass clones of one value to applications that replace each other.
///
/// After a pause a client may send all requests of a rate in one burst; further requests are admitted at that rate.
#[derive(Clone, Debug)]
pub struct Rates {
    address: Option<RateLimit>,
    session: Option<RateLimit>,
    /// Invalid credentials of an address. Verifying one takes up to a tenth of a millisecond on a thread that serves other
    /// clients as well. Callers whose credentials are cached are not affected.
    pub(crate) failures: RateLimit,
}

impl Default for Rates {
    fn default() -> Self {
        let failures = RateLimit::new(Rate::per_minute(Self::INVALID_CREDENTIALS_PER_MINUTE));
        Self { address: None, session: None, failures }
    }
}

impl Rates {
    /// The default of [`Self::invalid_credentials_per_minute`].
    pub const INVALID_CREDENTIALS_PER_MINUTE: u32 = 600;

    /// Limits the requests of each client address; in IPv6, of each /64 network.
    #[must_use]
    pub fn per_address(self, rate: Option<Rate>) -> Self {
        Self { address: rate.map(RateLimit::new), ..self }
    }

    /// Limits the requests of each session.
    #[must_use]
    pub fn per_session(self, rate: Option<Rate>) -> Self {
        Self { session: rate.map(RateLimit::new), ..self }
    }

    /// Sets how many invalid bearer tokens and API keys one client address may present per minute; in IPv6, one /64 network.
    /// The default is [`Self::INVALID_CREDENTIALS_PER_MINUTE`].
    #[must_use]
    pub fn invalid_credentials_per_minute(self, limit: u32) -> Self {
        Self { failures: RateLimit::new(Rate::per_minute(limit)), ..self }
    }

    /// Counts a request from an address. All requests without an address share one limit.
    ///
    /// # Errors
    /// 429 if the limit of the address is reached.
    pub(crate) fn check_address(&self, address: Option<IpAddr>) -> Result<(), WireError> {
        self.address.as_ref().map_or(Ok(()), |limit| limit.count(address.map(counted_address)))
    }

    /// Counts a request of a session.
    ///
    /// # Errors
    /// 429 if the limit of the session is reached.
    pub(crate) fn check_session(&self, session: impl Hash) -> Result<(), WireError> {
        self.session.as_ref().map_or(Ok(()), |limit| limit.count(session))
    }

    /// Returns the number of requests that were refused by address and by session.
    pub fn refused(&self) -> [u64; 2] {
        [&self.address, &self.session].map(|limit| limit.as_ref().map_or(0, RateLimit::refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_rate_every_request_is_admitted() {
        let rates = Rates::default().per_address(Rate::parse("0/s").unwrap());
        assert!((0..10_000).all(|_| rates.check_address(None).is_ok() && rates.check_session("x").is_ok()));
        assert_eq!(rates.refused(), [0, 0]);
    }
}
