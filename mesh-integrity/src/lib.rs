//! Sealed session tokens, signed requests and revocation, independent of HTTP and databases.
//!
//! A [`Gate`] verifies requests. [`Gate::login`] begins a session for the [`Identity`] that an [`Authenticator`]
//! returned, and issues a token and a signing token. Requests carry the token and a signature whose key is the signing
//! token. [`Gate::open`] checks the token, [`Gate::verify`] the signature of a [`Message`], and [`Gate::logout`] ends
//! the session. Revoked sessions and used nonces are kept in a [`RevocationStore`] and a [`NonceStore`]. The stores in
//! memory belong to one process; servers that must honor each other's logouts share other stores.
//!
//! In reading order: [`keys`], which also defines them for other languages, [`token`], [`Message`], [`SigningKey`],
//! [`Gate`].
//!
//! # Invariants
//!
//! - No field of a token is read before its MAC has been verified.
//! - Secrets and keys are never printed, and no error contains any part of one.
//! - MACs are compared in constant time.
//! - A request is refused if its check fails: a store that is unavailable or full accepts nothing.
//! - Stores are bounded, and entries expire.
//! - Nothing reads a clock or generates random numbers: times and random bytes are arguments.
//!
//! # Example
//!
//! ```
//! use mesh_integrity::{SignatureTarget, Gate, Identity, IntegrityError, Keys, Message, SignatureHeaders, Secret, SigningKey};
//!
//! # async fn round() -> Result<(), Box<dyn std::error::Error>> {
//! let secret = Secret::new(*b"at least 32 bytes that nobody else knows")?;
//! let gate = Gate::new(Keys::new(&secret));
//! let now = 1_700_000_000_000;
//!
//! let issued = gate.login(&Identity::new("7").with_role("editor"), [0; 16], now)?;
//!
//! // The client signs its query.
//! let query = b"eyAgcG9zdCB0aXRsZSB9";
//! let signature = SigningKey::new(&issued.signing_token).sign(query);
//!
//! // The server verifies the token and the signature.
//! let headers = SignatureHeaders { signature: Some(signature.as_bytes()), ..SignatureHeaders::default() };
//! let target = SignatureTarget { method: "GET", path: "/mesh/post", format: "json" };
//! let token = Some(issued.token.as_bytes());
//! let opened = gate.open(token, now).await?;
//! gate.verify(&opened, &Message::new(query), &headers, &target, now).await?;
//! let session = opened.session();
//! assert_eq!((session.user.as_str(), session.role.as_deref()), ("7", Some("editor")));
//!
//! gate.logout(&opened, &SignatureHeaders::default(), &target, now).await?;
//! assert!(matches!(gate.open(token, now).await, Err(IntegrityError::TokenRevoked)));
//! # Ok(())
//! # }
//! # let mut round = std::pin::pin!(round());
//! # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
//! # assert!(matches!(std::future::Future::poll(round.as_mut(), &mut cx), std::task::Poll::Ready(Ok(()))));
//! ```

#![deny(missing_docs)]

mod accounts;
mod attempts;
mod authenticator;
mod error;
mod gate;
pub mod keys;
mod message;
mod nonces;
mod revocations;
mod session;
mod signature;
mod store;
pub mod token;

pub use accounts::{Account, AccountError, AccountSource, UsersTable};
pub use attempts::{AttemptKey, AttemptStore};
pub use authenticator::{Authenticator, Credentials, LoginError};
pub use error::{BindingFault, IntegrityError, QueryRefusal, ReplayReason};
pub use gate::{Binding, Gate, IssuedSession, SignatureHeaders};
pub use keys::{Keys, Secret, SecretTooShort};
pub use message::{Message, SignatureTarget};
pub use nonces::{MemoryNonces, NonceStore};
pub use revocations::{MemoryRevocations, RevocationStore};
pub use session::{Identity, Session, SessionId};
pub use signature::SigningKey;
pub use store::{BoxFuture, MaybeReady, StoreError};
pub use token::OpenedToken;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
