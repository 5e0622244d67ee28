//! Reasons for refusing a request. `SPEC §7.6`

use std::error::Error;
use std::fmt;

use crate::StoreError;

/// A request was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum IntegrityError {
    /// The request has no token.
    TokenMissing,
    /// The token was not issued by this deployment, or was altered.
    TokenInvalid,
    /// The token has expired.
    TokenExpired,
    /// The session was logged out.
    TokenRevoked,
    /// The request has no signature, or one that is not bound to one use although that is required.
    SignatureMissing {
        /// Whether the timestamp and nonce are missing rather than the signature.
        unbound: bool,
    },
    /// The signature belongs to another message or session.
    SignatureInvalid,
    /// A bound signature was used before, or its timestamp is too far from the current time.
    Replayed(ReplayReason),
    /// The credentials are wrong.
    BadCredentials,
    /// The statement of an upload lacks the hash of the file.
    ContentHashMissing,
    /// The uploaded file has another hash than stated.
    ContentHashMismatch,
    /// The query may not be run or registered.
    QueryNotAllowed(QueryRefusal),
    /// The session lacks the permission.
    Forbidden,
    /// The headers of a bound signature are malformed.
    Binding(BindingFault),
    /// A store failed, so the request could not be verified.
    Unavailable(StoreError),
}

/// The reason for refusing a bound signature as a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayReason {
    /// The timestamp is too far from the server's time.
    Late,
    /// The nonce was used before.
    Repeated,
}

/// The reason for refusing to run or register a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryRefusal {
    /// Only registered queries may be run.
    Unregistered,
    /// Clients may not register queries.
    Closed,
}

/// A fault in the headers of a bound signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingFault {
    /// The nonce has no timestamp.
    TimestampMissing,
    /// The timestamp has no nonce.
    NonceMissing,
    /// The timestamp is not a whole number of seconds.
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
            Self::SignatureInvalid => "The signature does not match the request",
            Self::Replayed(ReplayReason::Late) => {
                "X-Mesh-Timestamp is too far from the server's time; sign the request again"
            }
            Self::Replayed(ReplayReason::Repeated) => {
                "X-Mesh-Nonce was used before; sign the request again with a new nonce"
            }
            Self::BadCredentials => "The credentials are wrong",
            Self::ContentHashMissing => "The signed statement of an upload must have 'contentHash'",
            Self::ContentHashMismatch => "The file does not have the hash that was signed",
            Self::QueryNotAllowed(QueryRefusal::Unregistered) => {
                "Only registered queries are allowed; send the id of one in X-Mesh-Query-Id"
            }
            Self::QueryNotAllowed(QueryRefusal::Closed) => {
                "This server does not allow clients to register queries"
            }
            Self::Forbidden => "The session does not have the required permission",
            Self::Binding(fault) => return fault.fmt(f),
            Self::Unavailable(_) => "The session store is unavailable; try again later",
        })
    }
}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimestampMissing => "X-Mesh-Nonce requires X-Mesh-Timestamp",
            Self::NonceMissing => "X-Mesh-Timestamp requires X-Mesh-Nonce",
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
