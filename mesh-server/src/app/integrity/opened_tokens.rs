//! The cache of opened tokens, which saves the MACs of a token that was opened before.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use mesh_integrity::OpenedToken;
use mesh_plan::Principal;

/// Cached tokens, of a few hundred bytes each.
const CAPACITY: usize = 8_192;

/// An opened token and the principal of its session.
#[derive(Debug)]
pub(crate) struct KnownToken {
    pub(crate) token: OpenedToken,
    pub(crate) principal: Arc<Principal>,
}

impl KnownToken {
    pub(super) fn new(token: OpenedToken) -> Self {
        let session = token.session();
        let mut principal = Principal::new(session.user.clone(), session.session.to_string());
        principal.role = session.role.clone();
        principal.tenant = session.tenant.clone();
        Self { token, principal: Arc::new(principal) }
    }
}

type Tokens = HashMap<Box<[u8]>, Arc<KnownToken>, RandomState>;

/// Opened tokens by their text, in two generations: when the newer one holds half the capacity it replaces the older
/// one, and a hit in the older generation moves the entry to the newer one. Only valid tokens are inserted.
#[derive(Default)]
pub(super) struct OpenedTokens {
    generations: RwLock<[Tokens; 2]>,
}

impl OpenedTokens {
    pub(super) fn get(&self, token: &[u8]) -> Option<Arc<KnownToken>> {
        let known = {
            let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = newer.get(token) {
                return Some(Arc::clone(known));
            }
            Arc::clone(older.get(token)?)
        };
        self.insert(token, Arc::clone(&known));
        Some(known)
    }

    pub(super) fn insert(&self, token: &[u8], known: Arc<KnownToken>) {
        let [newer, older] = &mut *self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if newer.len() >= CAPACITY / 2 {
            *older = mem::take(newer);
        }
        newer.insert(token.into(), known);
    }
}

#[cfg(test)]
mod tests {
    use mesh_integrity::{Gate, Identity, Keys, Secret};

    use super::*;

    #[test]
    fn cached_tokens_are_bounded_and_those_in_use_stay() {
        let gate = Gate::new(Keys::new(&Secret::new([1; 32]).unwrap()));
        let tokens = OpenedTokens::default();
        let insert = |number: usize| {
            let token = gate.login(&Identity::new(number.to_string()), [0; 16], 1).unwrap().token;
            let opened = gate.open_token(Some(token.as_bytes())).unwrap();
            tokens.insert(token.as_bytes(), Arc::new(KnownToken::new(opened)));
            token
        };
        let used = insert(0);
        for number in 1..2 * CAPACITY {
            let token = insert(number);
            assert_eq!(tokens.get(token.as_bytes()).unwrap().principal.user, number.to_string());
            assert_eq!(tokens.get(used.as_bytes()).unwrap().token.session().user, "0");
        }
        let [newer, older] = &*tokens.generations.read().unwrap();
        assert!(newer.len() + older.len() <= CAPACITY);
    }
}
