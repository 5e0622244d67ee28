//! Limits of failed logins, per account and per address. `SPEC §12.6`

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mesh_integrity::{AttemptKey, AttemptStore, IntegrityError};
use mesh_wire::WireError;
use ring::digest::{SHA256, digest};

use crate::integrity::Integrity;
use crate::observability::error_log;
use crate::rates::client_address::counted_address;
use crate::rates::limiter::{Limiter, whole_seconds};
use crate::rates::rate::Rate;

/// The factor by which the limits for one account from all addresses, and for all accounts from one address, exceed the
/// limit for one account from one address.
const BROAD_LIMIT_FACTOR: u32 = 10;

impl Integrity {
    /// Counts a login attempt from an address, until it is uncounted or a minute has passed. Its account is looked up afterwards,
    /// so that an address that is refused cannot cause lookups. If several servers share a store, attempts are counted there as
    /// well, unless they are already refused here.
    ///
    /// # Errors
    /// 429 after too many attempts.
    pub(super) fn begin_attempt(&self, address: Option<IpAddr>) -> Result<Attempt<'_>, WireError> {
        let limiter = &*self.limiter;
        let mut attempt = Attempt::begin(limiter, self.login_per_minute, address, limiter.now())
            .map_err(WireError::rate_limit)?;
        attempt.shared = self.attempts.as_ref();
        Ok(attempt)
    }

    /// Returns how many attempts were refused without checking the password.
    pub(crate) fn refused_attempts(&self) -> u64 {
        self.limiter.refused()
    }
}

/// An attempt that is counted.
#[must_use = "an attempt that is no guess has to be uncounted"]
pub(crate) struct Attempt<'a> {
    limiter: &'a Limiter,
    address: Option<IpAddr>,
    /// Address, account and address, account. The keys with an account are empty until it is known.
    keys: [(String, Rate); 3],
    /// How many of the keys are counted on this server.
    counted: usize,
    /// The store that counts the attempt as well.
    shared: Option<&'a Arc<dyn AttemptStore>>,
    is_shared: bool,
}

impl<'a> Attempt<'a> {
    /// Counts an attempt from an address. Returns the number of seconds until the next one if there were too many.
    fn begin(
        limiter: &'a Limiter,
        per_minute: u32,
        address: Option<IpAddr>,
        now: Duration,
    ) -> Result<Self, u32> {
        let address = address.map(counted_address);
        let narrow = Rate::per_minute(per_minute);
        let broad = Rate::per_minute(per_minute.max(1).saturating_mul(BROAD_LIMIT_FACTOR));
        let keys = [(format!("any at {address:?}"), broad), (String::new(), narrow), (String::new(), broad)];
        let mut attempt = Self { limiter, address, keys, counted: 0, shared: None, is_shared: false };
        attempt.count_next(now)?;
        Ok(attempt)
    }

    /// Counts the attempt for an account as well, if it has one. Nothing stays counted if it is refused.
    ///
    /// # Errors
    /// 429 after too many attempts, 503 if the store fails.
    pub(crate) async fn count_account(
        &mut self,
        account: Option<&str>,
        request_id: &str,
    ) -> Result<(), WireError> {
        let now = self.limiter.now();
        self.count_account_locally(account, now).map_err(WireError::rate_limit)?;
        let Some(store) = self.shared else { return Ok(()) };
        let refused = match store.begin(self.shared_keys()).await {
            Ok(None) => {
                self.is_shared = true;
                return Ok(());
            }
            Ok(Some(wait)) => WireError::rate_limit(whole_seconds(Duration::from_millis(wait))),
            Err(error) => {
                error_log::chain(request_id, &error);
                IntegrityError::Unavailable(error).into()
            }
        };
        self.uncount_locally();
        Err(refused)
    }

    /// Counts the attempt for an account on this server.
    fn count_account_locally(&mut self, account: Option<&str>, now: Duration) -> Result<(), u32> {
        let address = self.address;
        let [_, (here, _), (anywhere, _)] = &mut self.keys;
        *here = format!("{account:?} at {address:?}");
        *anywhere = match account {
            Some(account) => format!("{account:?} at any"),
            // Attempts without an account have only the address in common.
            None => format!("no account at {address:?}"),
        };
        self.count_next(now)?;
        self.count_next(now)
    }

    /// Counts the next key, or uncounts all keys if its rate is exceeded.
    fn count_next(&mut self, now: Duration) -> Result<(), u32> {
        let Some((key, rate)) = self.keys.get(self.counted) else { return Ok(()) };
        let counted = self.limiter.count(key, *rate, now);
        match counted {
            Ok(()) => self.counted += 1,
            Err(_) => self.uncount_locally(),
        }
        counted
    }

    /// Uncounts the attempt, because it is no guess.
    pub(crate) async fn uncount(mut self) {
        if let Some(store) = self.shared.filter(|_| self.is_shared)
            && let Err(error) = store.forget(self.shared_keys()).await
        {
            tracing::warn!("a successful login is still counted as an attempt: {error}");
        }
        self.uncount_locally();
    }

    fn uncount_locally(&mut self) {
        let counted = self.keys.iter().take(std::mem::take(&mut self.counted));
        counted.for_each(|(key, rate)| self.limiter.uncount(key, *rate));
    }

    /// Returns the keys of the attempt in a shared store.
    fn shared_keys(&self) -> [AttemptKey; 3] {
        self.keys.each_ref().map(|(name, rate)| {
            let mut key = [0; 16];
            key.iter_mut().zip(digest(&SHA256, name.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
            AttemptKey { key, interval: u64::try_from(rate.interval().as_millis()).unwrap_or(u64::MAX) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some([192, 0, 2, last].into())
    }

    fn begin<'a>(
        (limiter, per_minute): &'a (Limiter, u32),
        account: &str,
        address: Option<IpAddr>,
        now: Duration,
    ) -> Result<Attempt<'a>, u32> {
        let mut attempt = Attempt::begin(limiter, *per_minute, address, now)?;
        attempt.count_account_locally(Some(account), now)?;
        Ok(attempt)
    }

    #[test]
    fn failures_are_limited_and_paid_off_over_time() {
        let attempts = (Limiter::new(), 10);
        let try_at = |now| begin(&attempts, "ada", address(1), Duration::from_millis(now)).map(|_| ());
        for _ in 0..10 {
            assert_eq!(try_at(1_000), Ok(()));
        }
        assert_eq!(try_at(1_000), Err(6));
        assert_eq!(try_at(6_999), Err(1));
        assert_eq!(try_at(7_000), Ok(()));
        assert_eq!(try_at(7_000), Err(6));
        for _ in 0..10 {
            assert_eq!(try_at(200_000), Ok(()));
        }
        assert_eq!(try_at(200_000), Err(6));
    }

    #[test]
    fn successes_are_not_counted() {
        let attempts = (Limiter::new(), 2);
        for _ in 0..100 {
            let attempt = begin(&attempts, "ada", address(1), Duration::ZERO);
            attempt.unwrap_or_else(|_| panic!("refused")).uncount_locally();
        }
        assert!(begin(&attempts, "ada", address(1), Duration::ZERO).is_ok());
    }

    #[test]
    fn other_accounts_and_addresses_have_separate_limits_within_the_broad_ones() {
        let attempts = (Limiter::new(), 2);
        let count = |of: &dyn Fn(u8) -> bool| (0..=255).filter(|number| of(*number)).count();
        assert_eq!(count(&|_| begin(&attempts, "ada", address(1), Duration::ZERO).is_ok()), 2);
        assert!(begin(&attempts, "ada", address(2), Duration::ZERO).is_ok(), "from another address");
        assert!(begin(&attempts, "bo", address(1), Duration::ZERO).is_ok(), "another account");
        let left = count(&|number| begin(&attempts, "ada", address(number), Duration::ZERO).is_ok());
        assert_eq!(left, 17, "20 for one account from all addresses");
        let names: Vec<String> = (0..=255).map(|number| format!("user {number}")).collect();
        let left = count(&|number| {
            begin(&attempts, &names[usize::from(number)], address(1), Duration::ZERO).is_ok()
        });
        assert_eq!(left, 17, "20 for all accounts from one address");
    }

    /// The table of counts has a fixed size. Keys with the fewest attempts are replaced first.
    #[test]
    fn a_flood_of_accounts_and_addresses_refuses_no_other_and_frees_none() {
        let attempts = (Limiter::new(), 10);
        let try_login = |account: &str, address| begin(&attempts, account, address, Duration::ZERO).is_ok();
        assert_eq!((0..60).filter(|_| try_login("ada", address(1))).count(), 10);
        for number in 0..200_000_u32 {
            let address = Some(IpAddr::from((number + (10 << 24)).to_be_bytes()));
            assert!(try_login(&format!("user {number}"), address), "{number}");
        }
        assert!(!try_login("ada", address(1)), "the limit still holds");
        assert!(try_login("bo", address(2)));
    }
}
