//! Which tokens were opened a moment ago? Opening one again would find the same.

use std::any::Any;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use foldhash::fast::RandomState;
use ring::hmac;

use crate::token::Opened;
use crate::{Session, signature};

/// How many tokens are kept, a few hundred bytes each.
const CAPACITY: usize = 8_192;
/// How many messages of a token are kept with their MACs.
const MESSAGES: usize = 4;
/// How many bytes such a message has at the most.
const MESSAGE_MAX: usize = 1_024;

/// A token whose MAC was found right.
pub(super) struct Known {
    pub(super) session: Arc<Session>,
    pub(super) key: hmac::Key,
    /// What the application made of the session.
    pub(super) kept: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// MACs of the last messages that were signed rightly. Clients send the same few queries again and again.
    signed: RwLock<Vec<Signed>>,
}

/// A message and its MAC.
type Signed = (Box<[u8]>, hmac::Tag);

impl Known {
    fn new(opened: Opened) -> Self {
        let Opened { session, key } = opened;
        Self { session: Arc::new(session), key, kept: OnceLock::new(), signed: RwLock::default() }
    }

    /// Whether that is the session's signature of a message.
    pub(super) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        {
            let signed = self.signed.read().unwrap_or_else(PoisonError::into_inner);
            let known = signed.iter().find(|(known, _)| **known == *message);
            if let Some((_, tag)) = known {
                return signature::spells(tag, signature);
            }
        }
        let right = signature::verify(&self.key, message, signature);
        if right && message.len() <= MESSAGE_MAX {
            let tag = hmac::sign(&self.key, message);
            let mut signed = self.signed.write().unwrap_or_else(PoisonError::into_inner);
            if signed.len() >= MESSAGES {
                signed.remove(0);
            }
            signed.push((message.into(), tag));
        }
        right
    }
}

type Tokens = HashMap<Box<str>, Arc<Known>, RandomState>;

/// Tokens that were opened, by their text. Only right ones come in, so nobody can fill it with others; whether
/// their sessions have ended is not known here. It holds two generations: when the newer one is full it
/// becomes the older, and what is used of the older moves on to the newer.
#[derive(Default)]
pub(super) struct Recent {
    generations: RwLock<[Tokens; 2]>,
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
            None => Arc::new(Known::new(open()?)),
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
    use crate::signature::SigningKey;
    use crate::{Keys, Secret, SessionId, token};

    #[test]
    fn a_message_that_was_signed_before_still_needs_its_signature() {
        let keys = Keys::new(&Secret::new([1; 32]).unwrap());
        let session = Session {
            user: "u".into(),
            session: SessionId([0; 16]),
            role: None,
            tenant: None,
            expires_at: 1,
        };
        let token = token::seal(&keys, &session).unwrap();
        let known = Known::new(token::open(&keys, &token).unwrap());
        let key = SigningKey::new(&token::signing_token(&keys, &token));
        let messages: Vec<Vec<u8>> = (0..2 * MESSAGES).map(|number| vec![b'a'; number]).collect();
        for _ in 0..2 {
            for (number, message) in messages.iter().enumerate() {
                let signature = key.sign(message);
                let other = key.sign(&messages[(number + 1) % messages.len()]);
                for _ in 0..2 {
                    assert!(!known.signed(message, other.as_bytes()));
                    assert!(known.signed(message, signature.as_bytes()));
                    assert!(!known.signed(message, other.as_bytes()));
                    assert!(!known.signed(message, signature.to_uppercase().as_bytes()));
                    assert!(!known.signed(message, b""));
                }
                assert!(known.signed.read().unwrap().len() <= MESSAGES);
            }
        }
        let long = vec![b'a'; MESSAGE_MAX + 1];
        assert!(known.signed(&long, key.sign(&long).as_bytes()));
        assert!(known.signed.read().unwrap().iter().all(|(message, _)| message.len() <= MESSAGE_MAX));
    }

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
