//! The cache of opened tokens, which saves the MACs of a token that was opened before.

use std::sync::Arc;

use mesh_integrity::OpenedToken;
use mesh_plan::{Generations, Principal};

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

/// Opened tokens by their text. Only valid tokens are inserted.
pub(super) struct OpenedTokens(Generations<Box<[u8]>, Arc<KnownToken>>);

impl OpenedTokens {
    pub(super) fn new() -> Self {
        Self(Generations::new(CAPACITY))
    }

    pub(super) fn get(&self, token: &[u8]) -> Option<Arc<KnownToken>> {
        self.0.get(token)
    }

    pub(super) fn insert(&self, token: &[u8], known: Arc<KnownToken>) {
        self.0.insert(token.into(), known, 1);
    }
}

#[cfg(test)]
mod tests {
    use mesh_integrity::{Gate, Identity, Keys, Secret};

    use super::*;

    #[test]
    fn cached_tokens_are_bounded_and_those_in_use_stay() {
        let gate = Gate::new(Keys::new(&Secret::new([1; 32]).unwrap()));
        let tokens = OpenedTokens::new();
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
        assert!(tokens.0.len() <= CAPACITY);
    }
}
