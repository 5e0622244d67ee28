//! Reasons for refusing a bearer. `SPEC §17.4`

use thiserror::Error;

/// The reason for refusing a bearer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BearerError {
    /// The request has no credential that identifies its caller.
    #[error("The request has no bearer token; send one in Authorization: Bearer")]
    Missing,
    /// The bearer is malformed, is not authentic, or is not meant for this server.
    #[error("The bearer token is not valid: {0}")]
    Invalid(BearerFault),
    /// The bearer has expired.
    #[error("The bearer token has expired; get a new one from its issuer")]
    Expired,
    /// The key that the bearer names is unknown.
    #[error("The bearer token is not valid: it was signed with an unknown key")]
    UnknownKey,
    /// The request needs the signature of a session.
    #[error(
        "A bearer token alone is not sufficient for this request; exchange it for a session at the login path, and sign the request"
    )]
    Unsigned,
    /// The keys of the issuer have not been loaded yet.
    #[error("Bearers cannot be verified yet: the keys of their issuer are not available")]
    NoKeys,
}

impl From<BearerFault> for BearerError {
    fn from(fault: BearerFault) -> Self {
        Self::Invalid(fault)
    }
}

/// The fault of an invalid bearer. The message names a rule and no part of the bearer, except configured names of
/// claims.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BearerFault {
    /// It is too long.
    #[error("it is longer than {most} bytes")]
    TooLong {
        /// The maximum length in bytes.
        most: usize,
    },
    /// It does not consist of three parts.
    #[error("it is not a signed JWT, which has three parts")]
    Parts,
    /// It is encrypted.
    #[error("it is encrypted; only signed JWTs are accepted")]
    Encrypted,
    /// A part is not base64url.
    #[error("its {part} is not base64url")]
    Base64 {
        /// The name of the part.
        part: &'static str,
    },
    /// A part is not a JSON object, or has a member twice.
    #[error("its {part} is not a JSON object with distinct members")]
    Json {
        /// The name of the part.
        part: &'static str,
    },
    /// The algorithm is not accepted.
    #[error("its algorithm is not accepted here")]
    Algorithm,
    /// The header has extensions that must be understood.
    #[error("its header has critical extensions")]
    Critical,
    /// The header states another type.
    #[error("its type is not that of an access token or an ID token")]
    Type,
    /// The header's key id is malformed, or several keys fit.
    #[error("its header does not name one key")]
    Key,
    /// The signature does not match the key.
    #[error("its signature does not match")]
    Signature,
    /// The issuer is not the expected one.
    #[error("its issuer is not the expected one")]
    Issuer,
    /// It is meant for other servers.
    #[error("its audience does not include this server")]
    Audience,
    /// The time of expiry is missing or malformed.
    #[error("its expiry time is missing or malformed")]
    Expiry,
    /// The time from which it is valid is malformed.
    #[error("its not-before time is malformed")]
    NotBefore,
    /// It is not valid yet.
    #[error("it may not be used yet")]
    Early,
    /// A claim that is required is missing, or cannot be used.
    #[error("its claim '{name}' is missing or cannot be used")]
    Claim {
        /// The configured name of the claim.
        name: String,
    },
    /// The claims for policies are too long.
    #[error("its claims for policies are too long")]
    ClaimsTooLong,
    /// There is no such API key.
    #[error("there is no such API key")]
    ApiKey,
}
