//! Reasons for refusing a request. `SPEC §7.6`

use std::time::Duration;

use thiserror::Error;

use crate::StoreError;

/// The reason for refusing a request.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IntegrityError {
    /// The request has no token.
    #[error("The request has no token; log in and send it in X-Mesh-Token")]
    TokenMissing,
    /// The token was not issued by this deployment, or was altered.
    #[error("The token is not valid; log in again")]
    TokenInvalid,
    /// The token has expired.
    #[error("The token has expired; log in again")]
    TokenExpired,
    /// The session was logged out.
    #[error("The session was logged out; log in again")]
    TokenRevoked,
    /// The request has no signature, or one that is not bound to one use although that is required.
    #[error("{}", if *unbound {
        "The signature must be bound to one use; send X-Mesh-Timestamp and X-Mesh-Nonce and sign them"
    } else {
        "The request is not signed; send its signature in X-Mesh-Signature"
    })]
    SignatureMissing {
        /// Whether the timestamp and nonce are missing rather than the signature.
        unbound: bool,
    },
    /// The signature belongs to another message or session.
    #[error("The signature does not match the request")]
    SignatureInvalid,
    /// A bound signature was used before, or its timestamp is too far from the current time.
    #[error("{0}")]
    Replayed(ReplayReason),
    /// The session has sent more bound signatures than the number of nonces that are kept for it.
    #[error("The session has sent too many requests with nonces")]
    TooManyNonces {
        /// The time until one of them expires.
        retry_after: Duration,
    },
    /// The credentials are wrong.
    #[error("The credentials are wrong")]
    BadCredentials,
    /// The statement of an upload lacks the hash of the file.
    #[error("The signed statement of an upload must have 'contentHash'")]
    ContentHashMissing,
    /// The hash of the uploaded file differs from the stated one.
    #[error("The file does not have the hash that was signed")]
    ContentHashMismatch,
    /// The query may not be run or registered.
    #[error("{0}")]
    QueryNotAllowed(QueryRefusal),
    /// The session lacks the permission.
    #[error("The session does not have the required permission")]
    Forbidden,
    /// The headers of a bound signature are malformed.
    #[error("{0}")]
    Binding(BindingFault),
    /// A store failed, so the request could not be verified.
    #[error("The session store is unavailable; try again later")]
    Unavailable(#[from] StoreError),
}

/// The reason for refusing a bound signature as a replay.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ReplayReason {
    /// The timestamp is too far from the server's time.
    #[error("X-Mesh-Timestamp is too far from the server's time; sign the request again")]
    Late,
    /// The timestamp precedes the time at which the server took over from another process, which may have accepted the
    /// signature.
    #[error("X-Mesh-Timestamp is from before the server has started; sign the request again")]
    Unknown,
    /// The nonce was used before.
    #[error("X-Mesh-Nonce was used before; sign the request again with a new nonce")]
    Repeated,
}

/// The reason for refusing to run or register a query.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QueryRefusal {
    /// Only registered queries may be run.
    #[error("Only registered queries are allowed; send the id of one in X-Mesh-Query-Id")]
    Unregistered,
    /// Clients may not register queries.
    #[error("This server does not allow clients to register queries")]
    Closed,
}

/// A fault in the headers of a bound signature.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BindingFault {
    /// The nonce has no timestamp.
    #[error("X-Mesh-Nonce requires X-Mesh-Timestamp")]
    TimestampMissing,
    /// The timestamp has no nonce.
    #[error("X-Mesh-Timestamp requires X-Mesh-Nonce")]
    NonceMissing,
    /// The timestamp is not a whole number of seconds.
    #[error("X-Mesh-Timestamp must be a whole number of seconds since 1970")]
    Timestamp,
    /// The nonce is not 16 to 64 characters of base64url.
    #[error("X-Mesh-Nonce must be 16 to 64 characters of A-Z a-z 0-9 - _")]
    Nonce,
}
