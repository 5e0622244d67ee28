//! Limits of failed logins, per account and per address. `SPEC §12.6`

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use mesh_integrity::{AttemptKey, AttemptStore, StoreError};
use ring::digest::{SHA256, digest};

use crate::rates::client_address::counted_address;

/// The time over which attempts are counted, in milliseconds.
const MINUTE: u64 = 60_000;
/// The factor by which the limits for one account from all addresses, and for all accounts from one address, exceed the
/// limit for one account from one address.
const BROAD: u64 = 10;
/// Accounts and addresses that are tracked at a time.
const CAPACITY: usize = 100_000;

/// The login attempts of the last minute. Successful ones are uncounted.
///
/// Each key has the time at which its attempts are paid off, one per interval; it is at most a minute ahead. This allows a
/// burst, and then a steady rate.
///
/// If several servers share a store, attempts are counted there as well, unless they are already refused here.
pub(crate) struct Attempts {
    per_minute: u64,
    store: Option<Arc<dyn AttemptStore>>,
    /// When the attempts of each key are paid off, in milliseconds.
    paid_off: DashMap<u64, u64>,
    keys: RandomState,
    next_sweep: AtomicU64,
    refused: AtomicU64,
}

impl Attempts {
    /// Allows `per_minute` failed attempts for one account from one address.
    pub(crate) fn new(per_minute: u32, store: Option<Arc<dyn AttemptStore>>) -> Self {
        Self {
            per_minute: u64::from(per_minute.max(1)),
            store,
            paid_off: DashMap::new(),
            keys: RandomState::new(),
            next_sweep: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    pub(crate) fn per_minute(&self) -> u32 {
        u32::try_from(self.per_minute).unwrap_or(u32::MAX)
    }

    pub(crate) fn store(&self) -> Option<&Arc<dyn AttemptStore>> {
        self.store.as_ref()
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// There were too many attempts, or the store failed.
    pub(crate) async fn begin(
        &self,
        account: Option<&str>,
        address: Option<IpAddr>,
        now: u64,
    ) -> Result<Attempt<'_>, Refused> {
        let mut attempt = self.begin_here(account, address, now)?;
        let Some(store) = &self.store else { return Ok(attempt) };
        let shares = self.shares(account, address);
        match store.begin(shares).await {
            Ok(None) => {
                attempt.shares = Some(shares);
                Ok(attempt)
            }
            Ok(Some(wait)) => {
                attempt.forget_here();
                Err(Refused::Until(seconds(wait)))
            }
            Err(error) => {
                attempt.forget_here();
                Err(Refused::Unknown(error))
            }
        }
    }

    /// Returns the keys of an attempt in the shared store: account and address, account, address.
    fn shares(&self, account: Option<&str>, address: Option<IpAddr>) -> [AttemptKey; 3] {
        let address = address.map(counted_address);
        let broad = self.per_minute.saturating_mul(BROAD);
        let share = |names: String, allowed: u64| {
            let mut key = [0; 16];
            key.iter_mut().zip(digest(&SHA256, names.as_bytes()).as_ref()).for_each(|(to, from)| *to = *from);
            AttemptKey { key, interval: MINUTE / allowed }
        };
        [
            share(format!("{account:?} at {address:?}"), self.per_minute),
            share(format!("{account:?} at any"), broad),
            share(format!("any at {address:?}"), broad),
        ]
    }

    fn begin_here(
        &self,
        account: Option<&str>,
        address: Option<IpAddr>,
        now: u64,
    ) -> Result<Attempt<'_>, Refused> {
        self.sweep(now);
        let address = address.map(counted_address);
        let broad = self.per_minute.saturating_mul(BROAD);
        let keys = [
            (self.keys.hash_one((account, address)), self.per_minute),
            (self.keys.hash_one((account, "any address")), broad),
            (self.keys.hash_one(("any account", address)), broad),
        ];
        for (index, (key, allowed)) in keys.iter().enumerate() {
            if let Err(wait) = self.take(*key, MINUTE / allowed, now) {
                self.refused.fetch_add(1, Ordering::Relaxed);
                keys.iter().take(index).for_each(|(key, allowed)| self.give_back(*key, MINUTE / allowed));
                return Err(Refused::Until(seconds(wait)));
            }
        }
        Ok(Attempt { attempts: self, keys, shares: None })
    }

    /// Returns how many attempts were refused without checking the password.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn take(&self, key: u64, interval: u64, now: u64) -> Result<(), u64> {
        if self.paid_off.len() >= CAPACITY && !self.paid_off.contains_key(&key) {
            return Err(interval);
        }
        let mut paid_off = self.paid_off.entry(key).or_insert(0);
        let next = (*paid_off).max(now) + interval;
        match next.checked_sub(now + MINUTE) {
            None | Some(0) => {
                *paid_off = next;
                Ok(())
            }
            Some(wait) => Err(wait),
        }
    }

    fn give_back(&self, key: u64, interval: u64) {
        if let Some(mut paid_off) = self.paid_off.get_mut(&key) {
            *paid_off = paid_off.saturating_sub(interval);
        }
    }

    fn sweep(&self, now: u64) {
        if now >= self.next_sweep.load(Ordering::Relaxed) || self.paid_off.len() >= CAPACITY {
            self.next_sweep.store(now + MINUTE, Ordering::Relaxed);
            self.paid_off.retain(|_, paid_off| *paid_off > now);
        }
    }
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").field("per_minute", &self.per_minute).finish_non_exhaustive()
    }
}

/// Why an attempt is refused.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There were too many attempts; the next one is allowed after so many seconds.
    Until(u32),
    /// The store failed.
    Unknown(StoreError),
}

/// Rounds up to whole seconds, at least one.
fn seconds(millis: u64) -> u32 {
    u32::try_from(millis.div_ceil(1_000)).unwrap_or(u32::MAX).max(1)
}

/// A counted attempt.
#[must_use = "a successful attempt has to be uncounted"]
pub(crate) struct Attempt<'a> {
    attempts: &'a Attempts,
    keys: [(u64, u64); 3],
    /// The keys that the store has counted.
    shares: Option<[AttemptKey; 3]>,
}

impl Attempt<'_> {
    /// Uncounts the attempt, because the login succeeded.
    pub(crate) async fn forget(self) {
        if let (Some(store), Some(shares)) = (&self.attempts.store, self.shares)
            && let Err(error) = store.forget(shares).await
        {
            tracing::warn!("a successful login is still counted as an attempt: {error}");
        }
        self.forget_here();
    }

    fn forget_here(&self) {
        self.keys.iter().for_each(|(key, allowed)| self.attempts.give_back(*key, MINUTE / allowed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some([192, 0, 2, last].into())
    }

    #[test]
    fn failures_are_limited_and_paid_off_over_time() {
        let attempts = Attempts::new(10, None);
        let try_at = |now| match attempts.begin_here(Some("ada"), address(1), now) {
            Ok(_) => Ok(()),
            Err(Refused::Until(seconds)) => Err(seconds),
            Err(refused) => panic!("{refused:?}"),
        };
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
        let attempts = Attempts::new(2, None);
        for _ in 0..100 {
            attempts
                .begin_here(Some("ada"), address(1), 0)
                .unwrap_or_else(|_| panic!("refused"))
                .forget_here();
        }
        assert!(attempts.begin_here(Some("ada"), address(1), 0).is_ok());
    }

    #[test]
    fn other_accounts_and_addresses_have_separate_limits_within_the_broad_ones() {
        let attempts = Attempts::new(2, None);
        let count = |of: &dyn Fn(u8) -> bool| (0..=255).filter(|number| of(*number)).count();
        assert_eq!(count(&|_| attempts.begin_here(Some("ada"), address(1), 0).is_ok()), 2);
        assert!(attempts.begin_here(Some("ada"), address(2), 0).is_ok(), "from another address");
        assert!(attempts.begin_here(Some("bo"), address(1), 0).is_ok(), "another account");
        let left = count(&|number| attempts.begin_here(Some("ada"), address(number), 0).is_ok());
        assert_eq!(left, 17, "20 for one account from all addresses");
        let names: Vec<String> = (0..=255).map(|number| format!("user {number}")).collect();
        let left =
            count(&|number| attempts.begin_here(Some(&names[usize::from(number)]), address(1), 0).is_ok());
        assert_eq!(left, 17, "20 for all accounts from one address");
    }

    #[test]
    fn paid_off_attempts_are_swept() {
        let attempts = Attempts::new(10, None);
        for number in 0..200 {
            let _ = attempts.begin_here(Some(&number.to_string()), address(1), 0);
        }
        assert!(attempts.paid_off.len() > 100);
        let _ = attempts.begin_here(None, None, 1_000_000);
        assert_eq!(attempts.paid_off.len(), 3);
    }
}
