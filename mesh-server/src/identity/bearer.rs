//! Bearers: their keys, and a cache of those that have been verified. `SPEC §17.1`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use mesh_integrity::bearer::{BearerError, BearerVerifier, KeySet, OpenedBearer};
use mesh_plan::backend::Cache;
use parking_lot::RwLock;

use super::caller::{Caller, Evidence, principal};
use super::refresh::{Refresh, RefreshOutcome, RefreshRequests};
use crate::observability::health::Check;

/// Cached callers.
const CALLERS: usize = 65_536;
/// Bytes of cached bearers and their callers, an estimate.
const CALLER_BYTES: usize = 32 << 20;
/// Bytes of a caller in memory beyond its texts, an estimate.
const CALLER_OVERHEAD: usize = 1_024;

/// Callers identified by JWTs of an issuer, for [`crate::RequestAuthenticator`]. Cheap to clone; clones share the keys.
#[derive(Clone)]
pub struct Bearer {
    pub(super) shared: Arc<BearerState>,
}

pub(super) struct BearerState {
    verifier: BearerVerifier,
    /// `None` until the keys have been read for the first time.
    pub(super) keys: RwLock<Option<Arc<KeySet>>>,
    /// Whether the last attempt to read the keys failed.
    pub(super) failing: AtomicBool,
    /// Requests to read the keys again.
    refresh: Refresh,
    /// Callers by the whole text of their bearers. A key is compared in full, so no other text finds a caller.
    callers: Cache<Box<[u8]>, Caller>,
}

impl Bearer {
    /// Creates bearers from a verifier and keys.
    pub fn new(verifier: BearerVerifier, keys: KeySet) -> Self {
        let (bearer, _) = Self::without_keys(verifier);
        bearer.set_keys(keys);
        bearer
    }

    /// Creates bearers whose keys have yet to be read. Also returns the requests to read them again.
    pub(super) fn without_keys(verifier: BearerVerifier) -> (Self, RefreshRequests) {
        let (refresh, requests) = RefreshRequests::new();
        let shared = BearerState {
            verifier,
            keys: RwLock::default(),
            failing: AtomicBool::new(false),
            refresh,
            callers: Cache::bounded(CALLERS, CALLER_BYTES),
        };
        (Self { shared: Arc::new(shared) }, requests)
    }

    /// Replaces the keys. Bearers that were signed with any other key are refused from now on.
    pub fn set_keys(&self, keys: KeySet) {
        *self.shared.keys.write() = Some(Arc::new(keys));
    }

    /// Returns the state of the keys, for a health check.
    pub fn health(&self) -> Check {
        match (self.keys().is_ok(), self.shared.failing.load(Ordering::Relaxed)) {
            (false, _) => {
                Check::Warned("the keys for bearer tokens could not be read; bearers are refused".to_owned())
            }
            (true, true) => Check::Warned(
                "the keys for bearer tokens could not be read; the known ones are used".to_owned(),
            ),
            (true, false) => Check::Passed,
        }
    }

    /// Waits until the keys have been read again because one is unknown.
    pub(crate) async fn request_refresh(&self) -> RefreshOutcome {
        self.shared.refresh.request().await
    }

    /// Returns the keys.
    ///
    /// # Errors
    /// [`BearerError::NoKeys`].
    fn keys(&self) -> Result<Arc<KeySet>, BearerError> {
        self.shared.keys.read().clone().ok_or(BearerError::NoKeys)
    }

    /// Returns the caller of a token that was verified before, if it is still valid.
    pub(crate) fn cached(&self, token: &[u8]) -> Option<Result<Caller, BearerError>> {
        let caller = self.shared.callers.get(token)?;
        let Some(Evidence::Bearer(opened)) = caller.evidence() else { return None };
        let checked = self.check(opened);
        Some(checked.map(|()| caller))
    }

    /// Verifies a token, and caches its caller.
    pub(crate) fn verify(&self, token: &[u8]) -> Result<Caller, BearerError> {
        let keys = self.keys()?;
        let opened = self.shared.verifier.open(token, &keys)?;
        let checked = self.check(&opened);
        let principal = principal(opened.session());
        let caller = Caller::new(Evidence::Bearer(opened), principal);
        // The token is stored as a cache key, and decoded in a session and a principal.
        let weight = CALLER_OVERHEAD + 3 * token.len();
        self.shared.callers.insert(token.into(), caller.clone(), weight);
        checked.map(|()| caller)
    }

    /// Checks the times of a bearer, and that its key is still in use.
    pub(crate) fn check(&self, opened: &OpenedBearer) -> Result<(), BearerError> {
        self.shared.verifier.check(opened, &*self.keys()?, SystemTime::now())
    }
}

opaque_debug!(Bearer);
