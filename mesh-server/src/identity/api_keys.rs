//! API keys, which are looked up by their hash and cached for a short time. `SPEC §17.3`

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mesh_integrity::{ApiKeyHash, ApiKeySource, Session, StoreError, StoredApiKey};
use mesh_plan::backend::Cache;
use mesh_wire::{Challenge, Code, WireError};
use tokio::sync::Semaphore;

use super::caller::{Caller, Evidence, principal};
use crate::rates::limiter::RateLimit;

/// How long a looked-up key is used without another lookup. A revoked key is refused after this time at the latest.
const LIFETIME: Duration = Duration::from_secs(5);
/// Cached keys, and as many hashes of unknown ones.
const ENTRIES: usize = 8_192;
/// Maximum number of concurrent lookups of keys that were valid before, and of concurrent lookups of other keys.
const LOOKUPS: usize = 4;
/// Maximum number of requests that wait for lookups.
const WAITING: usize = 500;
/// The expiry of keys that do not expire, in seconds since 1970: the end of the year 9999.
const NEVER: u64 = 253_402_300_799;

/// Callers identified by API keys, for [`crate::RequestAuthenticator`]. Cheap to clone; clones share a cache.
#[derive(Clone)]
pub struct ApiKeys {
    shared: Arc<KeyCache>,
}

/// The cache and the limits of lookups. Guesses do not compete with keys that were valid before for either of them.
struct KeyCache {
    source: Arc<dyn ApiKeySource>,
    known: Cache<ApiKeyHash, Entry>,
    /// Hashes without a key, with the time when they were looked up.
    unknown: Cache<ApiKeyHash, Instant>,
    known_lookups: Semaphore,
    other_lookups: Semaphore,
    waiting: Semaphore,
}

/// A key that is or was in the table.
#[derive(Clone)]
struct Entry {
    /// `None` after the key was deleted.
    caller: Option<Caller>,
    looked_up: Instant,
}

/// The reason why a key is refused.
#[derive(Debug)]
pub(crate) enum ApiKeyError {
    /// The key is malformed or unknown.
    Invalid,
    /// The key has expired.
    Expired,
    /// The address has sent too many unknown keys.
    RateLimited(WireError),
    /// Too many requests wait for lookups.
    Busy,
    /// The table cannot be read.
    Unavailable(StoreError),
}

type LookupResult = Result<Caller, ApiKeyError>;

impl ApiKeys {
    /// Creates API keys that are looked up in a source.
    pub fn new(source: Arc<dyn ApiKeySource>) -> Self {
        let shared = KeyCache {
            source,
            known: Cache::new(ENTRIES),
            unknown: Cache::new(ENTRIES),
            known_lookups: Semaphore::new(LOOKUPS),
            other_lookups: Semaphore::new(LOOKUPS),
            waiting: Semaphore::new(WAITING),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the caller or the refusal of a key if it is in the cache; otherwise `None`.
    fn cached(&self, hash: ApiKeyHash) -> Option<LookupResult> {
        if let Some(entry) = self.shared.known.get(&hash).filter(|entry| is_fresh(entry.looked_up)) {
            return Some(entry.caller.ok_or(ApiKeyError::Invalid).and_then(unexpired));
        }
        let is_unknown = self.shared.unknown.get(&hash).is_some_and(is_fresh);
        is_unknown.then_some(Err(ApiKeyError::Invalid))
    }

    /// Returns the caller of a key, which is looked up if it is not in the cache. Unknown keys count as failures
    /// of the client.
    pub(crate) async fn find(
        &self,
        key: &[u8],
        failures: &RateLimit,
        client: Option<IpAddr>,
    ) -> LookupResult {
        let hash = ApiKeyHash::from_key(key).ok_or(ApiKeyError::Invalid)?;
        if let Some(found) = self.cached(hash) {
            return found;
        }
        let _waits = self.shared.waiting.try_acquire().map_err(|_| ApiKeyError::Busy)?;
        if self.shared.known.get(&hash).is_some() {
            return self.look_up(hash, &self.shared.known_lookups).await;
        }
        failures.count(client).map_err(ApiKeyError::RateLimited)?;
        let found = self.look_up(hash, &self.shared.other_lookups).await;
        if !matches!(found, Err(ApiKeyError::Invalid)) {
            failures.uncount(client);
        }
        found
    }

    /// Checks that the key of a caller is still in the table, with the same owner and role. While the table cannot be read,
    /// keys cannot be checked and are not refused.
    pub(crate) async fn recheck(&self, hash: ApiKeyHash, caller: &Caller) -> Result<(), ApiKeyError> {
        let found = match self.cached(hash) {
            Some(found) => found,
            None => self.look_up(hash, &self.shared.known_lookups).await,
        };
        match found {
            Ok(found) if found.principal() != caller.principal() => Err(ApiKeyError::Invalid),
            Ok(_) | Err(ApiKeyError::Busy | ApiKeyError::Unavailable(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn look_up(&self, hash: ApiKeyHash, lookups: &Semaphore) -> LookupResult {
        let _permit =
            lookups.acquire().await.map_err(|error| ApiKeyError::Unavailable(StoreError::new(error)))?;
        // Another request may have looked it up meanwhile.
        if let Some(found) = self.cached(hash) {
            return found;
        }
        let looked_up = Instant::now();
        let stored = self.shared.source.find(hash).await.map_err(ApiKeyError::Unavailable)?;
        let Some(stored) = stored else {
            if self.shared.known.get(&hash).is_some() {
                self.shared.known.insert(hash, Entry { caller: None, looked_up }, 1);
            } else {
                self.shared.unknown.insert(hash, looked_up, 1);
            }
            return Err(ApiKeyError::Invalid);
        };
        let session = Arc::new(session(&stored));
        let principal = principal(&session);
        let caller = Caller::new(Evidence::ApiKey(hash, session), principal);
        self.shared.known.insert(hash, Entry { caller: Some(caller.clone()), looked_up }, 1);
        unexpired(caller)
    }
}

fn is_fresh(looked_up: Instant) -> bool {
    looked_up.elapsed() < LIFETIME
}

fn unexpired(caller: Caller) -> LookupResult {
    let has_expired = caller.session().is_none_or(|session| session.expires_at <= SystemTime::now());
    if has_expired { Err(ApiKeyError::Expired) } else { Ok(caller) }
}

/// Returns the session of all requests with a key.
fn session(stored: &StoredApiKey) -> Session {
    Session {
        user: stored.user(),
        session: stored.hash.session(),
        role: stored.role.clone(),
        tenant: None,
        claims: mesh_integrity::SessionClaims::default(),
        expires_at: stored.expires.unwrap_or(UNIX_EPOCH + Duration::from_secs(NEVER)),
    }
}

impl From<ApiKeyError> for WireError {
    fn from(error: ApiKeyError) -> Self {
        let refused = |code, message| Self::integrity(code, message).with_challenge(Challenge::InvalidBearer);
        match error {
            ApiKeyError::Invalid => refused(Code::TokenInvalid, "The API key is not valid"),
            ApiKeyError::Expired => refused(Code::TokenExpired, "The API key has expired"),
            ApiKeyError::RateLimited(error) => error,
            ApiKeyError::Busy | ApiKeyError::Unavailable(_) => Self::unavailable(),
        }
    }
}

opaque_debug!(ApiKeys);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use mesh_integrity::BoxFuture;
    use parking_lot::Mutex;

    use super::*;

    /// A table that counts lookups.
    #[derive(Default)]
    struct Table {
        rows: Mutex<Vec<StoredApiKey>>,
        is_unavailable: Mutex<bool>,
        lookups: AtomicUsize,
        running: AtomicUsize,
        max_running: AtomicUsize,
    }

    /// The table as a source.
    struct Source(Arc<Table>);

    impl ApiKeySource for Source {
        fn find(&self, hash: ApiKeyHash) -> BoxFuture<'_, Result<Option<StoredApiKey>, StoreError>> {
            Box::pin(async move {
                let table = &self.0;
                table.lookups.fetch_add(1, Ordering::Relaxed);
                let running = table.running.fetch_add(1, Ordering::Relaxed) + 1;
                table.max_running.fetch_max(running, Ordering::Relaxed);
                tokio::task::yield_now().await;
                table.running.fetch_sub(1, Ordering::Relaxed);
                if *table.is_unavailable.lock() {
                    return Err(StoreError::new("away"));
                }
                Ok(table.rows.lock().iter().find(|row| row.hash == hash).cloned())
            })
        }
    }

    /// Keys over a table with the key `mk_a`.
    fn keys() -> (Arc<Table>, ApiKeys) {
        let table = Arc::new(Table::default());
        let (owner, role) = (Some("7".to_owned()), Some("editor".to_owned()));
        let hash = ApiKeyHash::from_key(b"mk_a").unwrap();
        table.rows.lock().push(StoredApiKey { hash, owner, role, expires: None });
        let source = Source(Arc::clone(&table));
        (table, ApiKeys::new(Arc::new(source)))
    }

    fn no_failures() -> RateLimit {
        crate::Rates::default().failures
    }

    async fn find(keys: &ApiKeys, key: &str, failures: &RateLimit) -> Result<String, u16> {
        let found = keys.find(key.as_bytes(), failures, None).await;
        found
            .map(|caller| caller.session().unwrap().user.clone())
            .map_err(|error| WireError::from(error).status.as_u16())
    }

    #[tokio::test]
    async fn a_key_is_looked_up_once_until_its_entry_is_old() {
        let ((table, keys), failures) = (keys(), no_failures());
        for _ in 0..10 {
            assert_eq!(find(&keys, "mk_a", &failures).await, Ok("7".to_owned()));
        }
        assert_eq!(table.lookups.load(Ordering::Relaxed), 1);
        let hash = ApiKeyHash::from_key(b"mk_a").unwrap();
        let caller = keys.cached(hash).unwrap().unwrap();
        let principal = caller.principal().unwrap();
        assert_eq!((principal.role.as_deref(), principal.user.as_str()), (Some("editor"), "7"));
        assert_eq!(caller.session().unwrap().session, hash.session());
        table.rows.lock().clear();
        make_old(&keys);
        assert_eq!(find(&keys, "mk_a", &failures).await, Err(401));
        assert_eq!(find(&keys, "mk_a", &failures).await, Err(401));
        assert_eq!(table.lookups.load(Ordering::Relaxed), 2);
    }

    /// Makes all entries too old to be used.
    fn make_old(keys: &ApiKeys) {
        let hash = ApiKeyHash::from_key(b"mk_a").unwrap();
        let entry = keys.shared.known.get(&hash).unwrap();
        let looked_up = entry.looked_up.checked_sub(LIFETIME).unwrap();
        keys.shared.known.insert(hash, Entry { looked_up, ..entry }, 1);
    }

    #[tokio::test]
    async fn guesses_cause_few_lookups_and_do_not_displace_keys() {
        let ((table, keys), failures) = (keys(), no_failures());
        assert_eq!(find(&keys, "mk_a", &failures).await, Ok("7".to_owned()));
        let mut refused = [0, 0];
        for number in 0..10_000 {
            match find(&keys, &format!("mk_guess{number}"), &failures).await {
                Err(401) => refused[0] += 1,
                Err(429) => refused[1] += 1,
                other => panic!("{other:?}"),
            }
        }
        let lookups = table.lookups.load(Ordering::Relaxed);
        assert!(lookups < 1_200 && refused == [lookups - 1, 10_001 - lookups], "{lookups}, {refused:?}");
        assert_eq!(find(&keys, "mk_guess0", &failures).await, Err(401), "known to be unknown");
        assert_eq!(find(&keys, "mk_a", &failures).await, Ok("7".to_owned()));
        make_old(&keys);
        assert_eq!(find(&keys, "mk_a", &failures).await, Ok("7".to_owned()), "not a guess");
        assert_eq!(table.lookups.load(Ordering::Relaxed), lookups + 1);
        for malformed in ["mk_", "mk_a b", "mk_' OR 1=1 --"] {
            assert_eq!(find(&keys, malformed, &failures).await, Err(401), "{malformed}");
        }
        assert_eq!(table.lookups.load(Ordering::Relaxed), lookups + 1);
    }

    #[tokio::test]
    async fn lookups_at_a_time_are_few_and_shared() {
        let ((table, keys), failures) = (keys(), no_failures());
        let guesses: Vec<String> = (0..50).map(|number| format!("mk_{number}")).collect();
        let guess = |key: &String| find_owned(keys.clone(), key.clone());
        let running: Vec<_> = guesses.iter().map(guess).map(tokio::spawn).collect();
        for running in running {
            assert_eq!(running.await.unwrap(), Err(401));
        }
        assert_eq!(table.max_running.load(Ordering::Relaxed), LOOKUPS);
        let running: Vec<_> =
            (0..50).map(|_| tokio::spawn(find_owned(keys.clone(), "mk_a".to_owned()))).collect();
        for running in running {
            assert_eq!(running.await.unwrap(), Ok("7".to_owned()));
        }
        assert!(table.lookups.load(Ordering::Relaxed) <= 50 + LOOKUPS);
        drop(failures);
    }

    async fn find_owned(keys: ApiKeys, key: String) -> Result<String, u16> {
        find(&keys, &key, &no_failures()).await
    }

    #[tokio::test]
    async fn expired_keys_and_a_table_that_is_away_have_their_own_errors() {
        let ((table, keys), failures) = (keys(), no_failures());
        table.rows.lock()[0].expires = Some(UNIX_EPOCH);
        let error = keys.find(b"mk_a", &failures, None).await.unwrap_err();
        assert!(matches!(error, ApiKeyError::Expired), "{error:?}");
        assert_eq!(WireError::from(error).code, Some(Code::TokenExpired));
        make_old(&keys);
        *table.is_unavailable.lock() = true;
        assert_eq!(find(&keys, "mk_a", &failures).await, Err(503));
        assert_eq!(find(&keys, "mk_b", &failures).await, Err(503));
        *table.is_unavailable.lock() = false;
        assert_eq!(find(&keys, "mk_b", &failures).await, Err(401));
    }

    #[tokio::test]
    async fn callers_are_checked_for_changes_of_their_key() {
        let ((table, keys), failures) = (keys(), no_failures());
        let caller = keys.find(b"mk_a", &failures, None).await.unwrap();
        let hash = ApiKeyHash::from_key(b"mk_a").unwrap();
        *table.is_unavailable.lock() = true;
        make_old(&keys);
        assert!(keys.recheck(hash, &caller).await.is_ok(), "unknown");
        *table.is_unavailable.lock() = false;
        assert!(keys.recheck(hash, &caller).await.is_ok());
        table.rows.lock()[0].role = Some("reader".to_owned());
        make_old(&keys);
        assert!(matches!(keys.recheck(hash, &caller).await, Err(ApiKeyError::Invalid)));
    }
}
