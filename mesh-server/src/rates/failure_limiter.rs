//! The limit of failed verifications of one address.

use std::net::IpAddr;

use mesh_wire::WireError;

use crate::rates::client_address::counted_address;
use crate::rates::limiter::Limiter;
use crate::rates::rate::Rate;

/// Limits how often one address may present invalid credentials. Verifying one takes up to a tenth of a millisecond on a
/// thread that serves other clients as well. Callers whose credentials are cached are not affected.
#[derive(Debug)]
pub(crate) struct FailureLimiter {
    rate: Rate,
    limiter: Limiter,
}

impl Default for FailureLimiter {
    fn default() -> Self {
        Self::new(Self::PER_MINUTE)
    }
}

impl FailureLimiter {
    /// The default limit of one address per minute.
    pub(crate) const PER_MINUTE: u32 = 600;

    /// Creates a limit of failures of one address per minute.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { rate: Rate::per_minute(per_minute), limiter: Limiter::new() }
    }

    /// Counts a verification before it starts.
    ///
    /// # Errors
    /// 429 if the address has presented too many invalid credentials.
    pub(crate) fn count(&self, address: Option<IpAddr>) -> Result<(), WireError> {
        let key = address.map(counted_address);
        self.limiter.count(key, self.rate, self.limiter.now()).map_err(WireError::rate_limit)
    }

    /// Removes a verification from the count, because the credential turned out to be valid.
    pub(crate) fn uncount(&self, address: Option<IpAddr>) {
        self.limiter.uncount(address.map(counted_address), self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_an_address_are_limited() {
        const LIMIT: u32 = 30;
        let (failures, address) = (FailureLimiter::new(LIMIT), Some(IpAddr::from([192, 0, 2, 1])));
        for _ in 0..2 * LIMIT {
            assert_eq!(failures.count(address), Ok(()));
            failures.uncount(address);
        }
        for _ in 0..LIMIT {
            assert_eq!(failures.count(address), Ok(()));
        }
        assert_eq!(failures.count(address).unwrap_err().status.as_u16(), 429);
        assert_eq!(failures.count(Some(IpAddr::from([192, 0, 2, 2]))), Ok(()));
    }
}
