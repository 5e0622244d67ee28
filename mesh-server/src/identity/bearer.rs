//! Bearers: their keys, and a cache of those that have been verified. `SPEC §17.1`

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use mesh_integrity::bearer::{BearerError, BearerVerifier, KeySet, OpenedBearer};
use mesh_plan::Generations;
use parking_lot::RwLock;

use super::{KnownCaller, Proof};

/// Cached callers.
const CALLERS: usize = 65_536;
/// Bytes of cached bearers and their callers, an estimate.
const CALLER_BYTES: usize = 32 << 20;
/// Bytes of a caller in memory beyond its texts, an estimate.
const CALLER_OVERHEAD: usize = 1_024;

/// Callers identified by JWTs of an issuer, for [`crate::AppBuilder::bearer`]. Cheap to clone; clones share the keys.
#[derive(Clone)]
pub struct Bearer {
    shared: Arc<Shared>,
}

struct Shared {
    verifier: BearerVerifier,
    /// `None` until the keys could be loaded.
    keys: RwLock<Option<Arc<KeySet>>>,
    /// Callers by the whole text of their bearers. A key is compared in full, so no other text finds a caller.
    callers: Generations<Box<[u8]>, Arc<KnownCaller>>,
}

impl Bearer {
    /// Creates bearers from rules and keys.
    pub fn new(verifier: BearerVerifier, keys: KeySet) -> Self {
        Self::with_keys(verifier, Some(keys))
    }

    pub(crate) fn with_keys(verifier: BearerVerifier, keys: Option<KeySet>) -> Self {
        let (keys, callers) = (RwLock::new(keys.map(Arc::new)), Generations::bounded(CALLERS, CALLER_BYTES));
        Self { shared: Arc::new(Shared { verifier, keys, callers }) }
    }

    /// Replaces the keys. Bearers that were signed with a key that is not among them are refused from now on.
    pub fn set_keys(&self, keys: KeySet) {
        *self.shared.keys.write() = Some(Arc::new(keys));
    }

    /// Returns the keys.
    ///
    /// # Errors
    /// [`BearerError::NoKeys`].
    fn keys(&self) -> Result<Arc<KeySet>, BearerError> {
        self.shared.keys.read().clone().ok_or(BearerError::NoKeys)
    }

    /// Returns the caller of a token that was verified before, if it is still valid.
    pub(crate) fn known(&self, token: &[u8]) -> Option<Result<Arc<KnownCaller>, BearerError>> {
        let caller = self.shared.callers.get(token)?;
        let Proof::Bearer(opened) = &caller.proof else { return None };
        Some(self.check(opened).map(|()| caller))
    }

    /// Verifies a token, and caches its caller.
    pub(crate) fn verify(&self, token: &[u8]) -> Result<Arc<KnownCaller>, BearerError> {
        let keys = self.keys()?;
        let opened = self.shared.verifier.open(token, &keys)?;
        let checked = self.check(&opened);
        let caller = Arc::new(KnownCaller::new(opened.session().clone(), Proof::Bearer(opened)));
        // Kept as a key, and decoded in two sessions and a principal.
        let weight = CALLER_OVERHEAD + 4 * token.len();
        self.shared.callers.insert(token.into(), Arc::clone(&caller), weight);
        checked.map(|()| caller)
    }

    /// Checks the times of a bearer, and that its key is still in use.
    pub(crate) fn check(&self, opened: &OpenedBearer) -> Result<(), BearerError> {
        self.shared.verifier.check(opened, &*self.keys()?, SystemTime::now())
    }
}

/// Shows neither keys nor tokens.
impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("verifier", &self.shared.verifier).finish_non_exhaustive()
    }
}
