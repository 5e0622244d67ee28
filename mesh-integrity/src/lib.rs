//! Sealed session tokens, signed requests and revocation, independent of HTTP and databases.
//!
//! A [`Gate`] verifies requests. [`Gate::login`] begins a session for the [`Identity`] that an [`Authenticator`]
//! returned, and issues a token and a signing token. Requests carry the token and a signature whose key is the signing
//! token. [`Gate::open`] checks the token, [`Gate::verify`] verifies the signature of a [`Message`], and
//! [`Gate::logout`] ends the session. Revoked sessions and used nonces are kept in a [`RevocationStore`] and a
//! [`NonceStore`]. The in-memory stores belong to one process; servers that must honor each other's logouts share other
//! stores, and keep their nonces in [`SharedNonces`].
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
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod accounts;
mod attempt_store;
mod authenticator;
pub mod bearer;
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

pub use accounts::api_keys::{
    API_KEY_BYTES, API_KEY_COLUMNS, API_KEY_PREFIX, ApiKeyHash, ApiKeySource, StoredApiKey,
    check_api_key_columns, check_api_key_faults, new_api_key,
};
#[cfg(feature = "accounts")]
pub use accounts::passwords;
pub use accounts::{Account, AccountError, AccountSource, AccountsUnavailable, TableLayoutError, UsersTable};
pub use attempt_store::{AttemptKey, AttemptStore};
pub use authenticator::{Authenticator, Credentials, LoginError};
pub use error::{BindingFault, IntegrityError, QueryRefusal, ReplayReason};
pub use gate::{Binding, Gate, IssuedSession, SignatureHeaders};
pub use keys::{Keys, Secret, SecretTooShort};
pub use message::{Message, SignatureTarget};
pub use nonces::shared::{Claimed, NonceRow, NonceTable, SharedNonces};
pub use nonces::{MemoryNonces, Nonce, NonceStore, NonceUse};
pub use revocations::{MemoryRevocations, RevocationStore};
pub use session::{ClaimsError, Identity, Session, SessionClaims, SessionId, unix_millis};
pub use signature::SigningKey;
pub use store::{BoxFuture, MaybeReady, StoreError};
pub use token::OpenedToken;
