//! The number of nonces that are kept for each session, and for all sessions.
//!
//! A nonce must not be removed before its signature has expired, because the signature could then be used again.
//! Therefore nothing is evicted: a session that has reached its limit is refused, and so are the accounts that hold the
//! most nonces when the process holds many. Requests of other sessions are not affected.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;

use crate::{Session, SessionId};

/// The interval between removals of expired counts of all accounts, in milliseconds.
const SWEEP_INTERVAL: u64 = 60_000;

/// Counts the nonces that are in use.
#[derive(Debug)]
pub(crate) struct NonceBudget {
    /// The accounts that hold nonces, by user.
    accounts: DashMap<Box<str>, UserNonces>,
    /// The number of nonces of all accounts. Counting them in the map would lock all of it.
    total: AtomicUsize,
    per_session: usize,
    capacity: usize,
    next_sweep: AtomicU64,
}

/// The nonces of all sessions of one user.
#[derive(Debug, Default)]
struct UserNonces {
    sessions: HashMap<SessionId, Counts>,
    total: usize,
}

/// The nonces of one session.
#[derive(Debug, Default)]
struct Counts {
    /// The number of nonces by expiry. Timestamps are whole seconds, so there are few entries.
    by_expiry: BTreeMap<u64, usize>,
    total: usize,
}

impl NonceBudget {
    /// The default number of nonces of a session.
    pub(crate) const PER_SESSION: usize = 10_000;
    /// The maximum number of nonces of all sessions. Each takes about 100 bytes of memory.
    pub(crate) const CAPACITY: usize = 1_000_000;
    /// The number of nonces that an account may hold in any case. Each account requires a login, which takes longer
    /// than using up these nonces.
    const RESERVED: usize = 100;

    pub(crate) fn new(per_session: usize, capacity: usize) -> Self {
        let (accounts, total, next_sweep) = Default::default();
        Self { accounts, total, per_session, capacity, next_sweep }
    }

    /// Counts a nonce that expires at `until`. If the session has reached its limit, or its account holds as many
    /// nonces as are left for all other accounts together, counts nothing and returns the time at which to try again.
    pub(crate) fn reserve(&self, session: &Session, until: u64, now: u64) -> Result<(), u64> {
        self.sweep_if_due(now);
        let mut account = match self.accounts.get_mut(session.user.as_str()) {
            Some(account) => account,
            None => self.accounts.entry(session.user.as_str().into()).or_default(),
        };
        let UserNonces { sessions, total } = &mut *account;
        let counts = sessions.entry(session.session).or_default();
        let expired = counts.remove_expired(now);
        *total -= expired;
        let left = self.capacity.saturating_sub(self.subtract(expired));
        if counts.total >= self.per_session || *total >= left.max(Self::RESERVED) {
            return Err(counts.by_expiry.keys().next().copied().unwrap_or(until));
        }
        *counts.by_expiry.entry(until).or_default() += 1;
        counts.total += 1;
        *total += 1;
        self.total.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Reverts the count of a nonce that was not stored.
    pub(crate) fn release(&self, session: &Session, until: u64) {
        let Some(mut account) = self.accounts.get_mut(session.user.as_str()) else { return };
        let Some(counts) = account.sessions.get_mut(&session.session) else { return };
        let Some(count) = counts.by_expiry.get_mut(&until) else { return };
        *count -= 1;
        if *count == 0 {
            counts.by_expiry.remove(&until);
        }
        counts.total -= 1;
        account.total -= 1;
        self.subtract(1);
    }

    /// Removes expired counts of all accounts once per interval, and if the clock was set back.
    fn sweep_if_due(&self, now: u64) {
        let due = self.next_sweep.load(Ordering::Relaxed);
        if now < due && due - now <= SWEEP_INTERVAL {
            return;
        }
        self.next_sweep.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        self.accounts.retain(|_, account| {
            let mut expired = 0;
            account.sessions.retain(|_, counts| {
                expired += counts.remove_expired(now);
                counts.total > 0
            });
            account.total -= expired;
            self.subtract(expired);
            account.total > 0
        });
    }

    /// Subtracts from the number of all nonces, and returns the result.
    fn subtract(&self, count: usize) -> usize {
        self.total.fetch_sub(count, Ordering::Relaxed).saturating_sub(count)
    }
}

impl Counts {
    /// Removes the counts of expired nonces, and returns how many there were.
    fn remove_expired(&mut self, now: u64) -> usize {
        let mut expired = 0;
        while let Some(first) = self.by_expiry.first_entry()
            && *first.key() <= now
        {
            expired += first.remove();
        }
        self.total -= expired;
        expired
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn session(user: &str, number: u8) -> Session {
        let session = SessionId([number; 16]);
        let claims = crate::SessionClaims::default();
        Session { user: user.to_owned(), session, role: None, tenant: None, claims, expires_at: UNIX_EPOCH }
    }

    /// Reserves nonces until one is refused, at most 10,000 at a time.
    fn reserve_all(budget: &NonceBudget, session: &Session, until: u64, now: u64) -> usize {
        (0..10_000).take_while(|_| budget.reserve(session, until, now).is_ok()).count()
    }

    /// Returns how many nonces a user holds.
    fn nonce_count(budget: &NonceBudget, user: &str) -> Option<usize> {
        budget.accounts.get(user).map(|account| account.total)
    }

    #[test]
    fn a_session_has_exactly_its_bound_until_nonces_expire() {
        let budget = NonceBudget::new(3, 1_000);
        let (one, other) = (session("ada", 1), session("ada", 2));
        for until in [50, 60, 60] {
            assert_eq!(budget.reserve(&one, until, 0), Ok(()));
        }
        assert_eq!(budget.reserve(&one, 70, 0), Err(50));
        assert_eq!(budget.reserve(&one, 70, 49), Err(50));
        assert_eq!(reserve_all(&budget, &other, 100, 0), 3, "other sessions are not affected");
        assert_eq!(budget.reserve(&one, 70, 50), Ok(()), "one has expired");
        assert_eq!(budget.reserve(&one, 70, 50), Err(60));
        assert_eq!(nonce_count(&budget, "ada"), Some(6));
    }

    #[test]
    fn a_nonce_that_was_not_stored_is_not_counted() {
        let budget = NonceBudget::new(1, 1_000);
        let ada = session("ada", 1);
        for _ in 0..5 {
            assert_eq!(budget.reserve(&ada, 50, 0), Ok(()));
            budget.release(&ada, 50);
        }
        budget.release(&ada, 50);
        budget.release(&session("bo", 2), 50);
        assert_eq!(nonce_count(&budget, "ada"), Some(0));
        assert_eq!((reserve_all(&budget, &ada, 50, 0), budget.total.load(Ordering::Relaxed)), (1, 1));
    }

    /// Regardless of how many sessions an account begins, other accounts can use their nonces.
    #[test]
    fn the_largest_holders_are_refused_first() {
        let budget = NonceBudget::new(1_000, 10_000);
        let reserve = |user: &str, number| reserve_all(&budget, &session(user, number), 500, 0);
        assert_eq!(
            (0..200).map(|number| reserve("mallory", number)).sum::<usize>(),
            5_000,
            "half of the capacity"
        );
        for user in ["ada", "bo", "cy"] {
            let reserved = (0..60).filter(|_| budget.reserve(&session(user, 1), 500, 0).is_ok());
            assert_eq!(reserved.count(), 60, "{user}");
        }
        assert_eq!(reserve("mallory", 201), 0);
        for number in 0..200 {
            assert!(reserve(&format!("more {number}"), number) >= NonceBudget::RESERVED);
        }
        assert_eq!(reserve("mallory", 202), 0);
        let most = 10_000 + 204 * NonceBudget::RESERVED;
        assert!(budget.total.load(Ordering::Relaxed) <= most);
    }

    #[test]
    fn counts_of_all_accounts_are_removed_when_they_expire() {
        let budget = NonceBudget::new(100, 1_000);
        for number in 0..100 {
            assert_eq!(budget.reserve(&session(&number.to_string(), number), 100, 0), Ok(()));
        }
        assert_eq!(budget.reserve(&session("late", 1), 200_000, 100_000), Ok(()));
        assert_eq!((budget.accounts.len(), budget.total.load(Ordering::Relaxed)), (1, 1));
        // The clock was set back, to a time at which nothing has expired.
        assert_eq!(budget.reserve(&session("late", 1), 500, 400), Ok(()));
    }

    #[test]
    fn expired_counts_are_removed_once_per_interval_and_others_stay() {
        const NOW: u64 = 1_000_000;
        let budget = NonceBudget::new(100, 1_000);
        let reserve =
            |user: &str, number, until, now| budget.reserve(&session(user, number), until, now).unwrap();
        reserve("ada", 1, NOW + 1, NOW);
        reserve("ada", 2, NOW + 90_000, NOW);
        reserve("bo", 3, NOW + 2, NOW);
        for now in [NOW, NOW + 2, NOW + 59_999] {
            reserve("cy", 4, now + 1, now);
            assert_eq!(
                (nonce_count(&budget, "ada"), nonce_count(&budget, "bo")),
                (Some(2), Some(1)),
                "at {now}"
            );
        }
        reserve("di", 5, NOW + 90_000, NOW + 60_000);
        assert_eq!(
            (nonce_count(&budget, "ada"), nonce_count(&budget, "bo"), nonce_count(&budget, "cy")),
            (Some(1), None, None)
        );
        let sessions: Vec<_> = budget.accounts.get("ada").unwrap().sessions.keys().copied().collect();
        assert_eq!(sessions, [SessionId([2; 16])]);
        // The clock is set back, by more than an interval.
        reserve("bo", 3, 501, 500);
        reserve("cy", 4, 90_000, 60_500);
        assert_eq!((nonce_count(&budget, "bo"), nonce_count(&budget, "cy")), (None, Some(1)));
    }

    #[test]
    fn threads_count_together() {
        let budget = NonceBudget::new(500, 100_000);
        let ada = session("ada", 1);
        let reserved: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| reserve_all(&budget, &ada, 50, 0))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((reserved, budget.total.load(Ordering::Relaxed)), (500, 500));
    }
}
