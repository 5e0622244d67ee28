//! Bearers: their keys, and a cache of those that have been verified. `SPEC §17.1`

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use mesh_integrity::bearer::{BearerError, BearerVerifier, KeySet, OpenedBearer};
use mesh_plan::backend::Cache;
use parking_lot::RwLock;

use super::caller::{Caller, Evidence, principal};
use super::refresh::{Refresh, RefreshOutcome};
use crate::observability::health::Check;

/// Cached callers.
const CALLERS: usize = 65_536;
/// Bytes of cached bearers and their callers, an estimate.
const CALLER_BYTES: usize = 32 << 20;
/// Bytes of a caller in memory beyond its texts, an estimate.
const CALLER_OVERHEAD: usize = 1_024;

/// Callers identified by JWTs of an issuer, for [`crate::AppBuilder::bearer`]. Cheap to clone; clones share the keys.
#[derive(Clone)]
pub struct Bearer {
    pub(super) shared: Arc<BearerState>,
}

pub(super) struct BearerState {
    verifier: BearerVerifier,
    /// `None` until the keys have been read for the first time.
    keys: RwLock<Option<Arc<KeySet>>>,
    /// Whether the last attempt to read the keys failed.
    failing: AtomicBool,
    /// Requests to read the keys again, if there is a location to read them from.
    pub(super) refresh: Option<Arc<Refresh>>,
    /// Callers by the whole text of their bearers. A key is compared in full, so no other text finds a caller.
    callers: Cache<Box<[u8]>, Caller>,
}

impl Bearer {
    /// Creates bearers from a verifier and keys.
    pub fn new(verifier: BearerVerifier, keys: KeySet) -> Self {
        Self::from_parts(verifier, Some(keys), None)
    }

    /// Creates bearers whose keys have yet to be read.
    #[cfg(feature = "jwks")]
    pub(super) fn with_refresh(verifier: BearerVerifier) -> Self {
        Self::from_parts(verifier, None, Some(Arc::new(Refresh::new())))
    }

    fn from_parts(verifier: BearerVerifier, keys: Option<KeySet>, refresh: Option<Arc<Refresh>>) -> Self {
        let keys = RwLock::new(keys.map(Arc::new));
        let callers = Cache::bounded(CALLERS, CALLER_BYTES);
        Self {
            shared: Arc::new(BearerState {
                verifier,
                keys,
                failing: AtomicBool::new(false),
                refresh,
                callers,
            }),
        }
    }

    /// Replaces the keys. Bearers that were signed with any other key are refused from now on.
    pub fn set_keys(&self, keys: KeySet) {
        self.shared.set_keys(keys);
    }

    /// Returns the state of the keys, for a health check.
    pub fn health(&self) -> Check {
        match (self.shared.has_keys(), self.shared.failing.load(Ordering::Relaxed)) {
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
        match &self.shared.refresh {
            Some(refresh) => refresh.request().await,
            None => RefreshOutcome::Fixed,
        }
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

impl BearerState {
    pub(super) fn set_keys(&self, keys: KeySet) {
        *self.keys.write() = Some(Arc::new(keys));
    }

    pub(super) fn has_keys(&self) -> bool {
        self.keys.read().is_some()
    }

    #[cfg(feature = "jwks")]
    pub(super) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }
}

impl Drop for BearerState {
    fn drop(&mut self) {
        if let Some(refresh) = &self.refresh {
            refresh.close();
        }
    }
}

/// Shows neither keys nor tokens.
impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("verifier", &self.shared.verifier).finish_non_exhaustive()
    }
}
