//! Which tokens were opened a moment ago? Opening one again would find the same.

use std::any::Any;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ring::hmac;

use crate::Session;
use crate::token::Opened;

/// How many tokens are kept, a few hundred bytes each.
const CAPACITY: usize = 8_192;

/// A token whose MAC was found right.
pub(super) struct Known {
    pub(super) session: Arc<Session>,
    pub(super) key: hmac::Key,
    /// What the application made of the session.
    pub(super) kept: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// Tokens that were opened, by their text. Only right ones come in, so nobody can fill it with others; whether
/// their sessions have ended is not known here. It holds two generations: when the newer one is full it
/// becomes the older, and what is used of the older moves on to the newer.
#[derive(Default)]
pub(super) struct Recent {
    generations: RwLock<[HashMap<Box<str>, Arc<Known>>; 2]>,
}

impl Recent {
    /// The token, opened by `open` where it is not known.
    pub(super) fn find<E>(
        &self,
        token: &str,
        open: impl FnOnce() -> Result<Opened, E>,
    ) -> Result<Arc<Known>, E> {
        let older = {
            let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = newer.get(token) {
                return Ok(Arc::clone(known));
            }
            older.get(token).map(Arc::clone)
        };
        let known = match older {
            Some(known) => known,
            None => {
                let Opened { session, key } = open()?;
                Arc::new(Known { session: Arc::new(session), key, kept: OnceLock::new() })
            }
        };
        let [newer, older] = &mut *self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if newer.len() >= CAPACITY / 2 {
            *older = mem::take(newer);
        }
        newer.insert(token.into(), Arc::clone(&known));
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keys, Secret, SessionId, token};

    #[test]
    fn tokens_are_opened_once_and_bounded() {
        let keys = Keys::new(&Secret::new([1; 32]).unwrap());
        let seal = |number: u64| {
            let session = SessionId([0; 16]);
            let session =
                Session { user: number.to_string(), session, role: None, tenant: None, expires_at: 1 };
            token::seal(&keys, &session).unwrap()
        };
        let recent = Recent::default();
        let used = seal(0);
        for number in 0..2 * CAPACITY as u64 {
            let token = seal(number);
            let known = recent.find(&token, || token::open(&keys, &token)).unwrap();
            assert_eq!(known.session.user, number.to_string());
            assert_eq!(recent.find::<()>(&used, || panic!("it is known")).unwrap().session.user, "0");
        }
        let [newer, older] = &*recent.generations.read().unwrap();
        assert!(newer.len() + older.len() <= CAPACITY);
        assert!(recent.find("tok_AAAA", || token::open(&keys, "tok_AAAA")).is_err());
        assert!(!newer.contains_key("tok_AAAA"));
    }
}
