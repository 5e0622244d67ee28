//! Bearers: JWTs that an issuer outside of this deployment has signed. `SPEC §17`
//!
//! A [`BearerVerifier`] contains the rules: the issuer, the audience, the leeway and the names of claims. A [`KeySet`]
//! contains the keys of the issuer. Verification depends only on the token, the keys and the time. It has two steps, so
//! that the result of the expensive first step can be cached: [`BearerVerifier::open`] verifies the signature and reads
//! the claims; [`BearerVerifier::check`] checks the times, and that the key is still in use.

#[cfg(feature = "bearer")]
mod compact;
mod error;
#[cfg(feature = "bearer")]
mod json;
#[cfg(feature = "bearer")]
mod keys;
#[cfg(feature = "bearer")]
mod names;
#[cfg(feature = "bearer")]
mod verifier;

pub use error::{BearerError, BearerFault};
#[cfg(feature = "bearer")]
pub use keys::{KeySet, KeySetError};
#[cfg(feature = "bearer")]
pub use verifier::{BearerVerifier, OpenedBearer};

#[cfg(test)]
#[cfg(feature = "bearer")]
mod tests;
