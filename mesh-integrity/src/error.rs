//! Reasons for refusing a request. `SPEC §7.6`

use std::error::Error;
use std::fmt;

use crate::StoreError;

/// A request was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum IntegrityError {
    /// There is no token.
    TokenMissing,
    /// The token is none of this deployment's, or was altered.
    TokenInvalid,
    /// The token's time is over.
    TokenExpired,
    /// The session was logged out.
    TokenRevoked,
    /// There is no signature, or none that is bound to this use where that is required.
    SignatureMissing {
        /// Whether timestamp and nonce are what is missing.
        unbound: bool,
    },
    /// The signature is another message's, or another session's.
    SignatureInvalid,
    /// A bound signature was used before, or at another time than it was made for.
    Replayed(ReplayReason),
    /// The credentials are wrong.
    BadCredentials,
    /// An upload does not say what it uploads.
    ContentHashMissing,
    /// The bytes are not those that were signed.
    ContentHashMismatch,
    /// Such a query may not be run or registered here.
    QueryNotAllowed(QueryRefusal),
    /// The session does not permit this.
    Forbidden,
    /// The headers of a bound signature cannot be read.
    Binding(BindingFault),
    /// It could not be found out whether the request may pass, so it may not.
    Unavailable(StoreError),
}

/// Why a bound signature counts as used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayReason {
    /// Its time is too far from the server's.
    Late,
    /// Its nonce was seen.
    Repeated,
}

/// Why a query may not be run or registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryRefusal {
    /// Only registered queries run here.
    Unregistered,
    /// No queries are registered over the line here.
    Closed,
}

/// What is wrong with the headers of a bound signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingFault {
    /// There is a nonce without a timestamp.
    TimestampMissing,
    /// There is a timestamp without a nonce.
    NonceMissing,
    /// The timestamp is no whole number of seconds.
    Timestamp,
    /// The nonce is not 16 to 64 characters of base64url.
    Nonce,
}

impl From<StoreError> for IntegrityError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

impl fmt::Display for IntegrityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TokenMissing => "The request has no token; log in and send it in X-Mesh-Token",
            Self::TokenInvalid => "The token is not valid; log in again",
            Self::TokenExpired => "The token has expired; log in again",
            Self::TokenRevoked => "The session was logged out; log in again",
            Self::SignatureMissing { unbound: false } => {
                "The request is not signed; send its signature in X-Mesh-Signature"
            }
            Self::SignatureMissing { unbound: true } => {
                "The signature must be bound to one use; send X-Mesh-Timestamp and X-Mesh-Nonce and sign them"
            }
            Self::SignatureInvalid => "The signature is not that of this request",
            Self::Replayed(ReplayReason::Late) => {
                "X-Mesh-Timestamp is too far from the server's time; sign the request anew"
            }
            Self::Replayed(ReplayReason::Repeated) => "X-Mesh-Nonce was used before; sign the request anew",
            Self::BadCredentials => "The credentials are wrong",
            Self::ContentHashMissing => "The signed statement of an upload must have 'contentHash'",
            Self::ContentHashMismatch => "The file is not the one whose hash was signed",
            Self::QueryNotAllowed(QueryRefusal::Unregistered) => {
                "Only registered queries run here; send the id of one in X-Mesh-Query-Id"
            }
            Self::QueryNotAllowed(QueryRefusal::Closed) => "Queries cannot be registered here",
            Self::Forbidden => "The session does not permit this",
            Self::Binding(fault) => return fault.fmt(f),
            Self::Unavailable(_) => "It cannot be found out now whether the session still lives",
        })
    }
}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampMissing => "X-Mesh-Nonce needs X-Mesh-Timestamp beside it",
            Self::NonceMissing => "X-Mesh-Timestamp needs X-Mesh-Nonce beside it",
            Self::Timestamp => "X-Mesh-Timestamp must be a whole number of seconds since 1970",
            Self::Nonce => "X-Mesh-Nonce must be 16 to 64 characters of A-Z a-z 0-9 - _",
        })
    }
}

impl Error for IntegrityError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(error) => Some(error),
            _ => None,
        }
    }
}
