//! Conversion of the errors of mesh-integrity. `SPEC §7.6`

use mesh_integrity::bearer::BearerError;
use mesh_integrity::{IntegrityError, LoginError};

use crate::{Challenge, Code, WireError};

impl From<IntegrityError> for WireError {
    fn from(error: IntegrityError) -> Self {
        let code = match &error {
            IntegrityError::TokenMissing => Code::TokenMissing,
            IntegrityError::TokenInvalid => Code::TokenInvalid,
            IntegrityError::TokenExpired => Code::TokenExpired,
            IntegrityError::TokenRevoked => Code::TokenRevoked,
            IntegrityError::SignatureMissing { .. } => Code::SignatureMissing,
            IntegrityError::Replayed(_) => Code::Replayed,
            IntegrityError::BadCredentials => Code::BadCredentials,
            IntegrityError::SignatureInvalid => Code::SignatureInvalid,
            IntegrityError::ContentHashMissing => Code::ContentHashMissing,
            IntegrityError::ContentHashMismatch => Code::ContentHashMismatch,
            IntegrityError::QueryNotAllowed(_) => Code::QueryNotAllowed,
            IntegrityError::Forbidden => Code::Forbidden,
            IntegrityError::Binding(fault) => return Self::transport(fault.to_string()),
            IntegrityError::TooManyNonces { retry_after } => {
                let seconds = retry_after.as_millis().div_ceil(1_000).max(1);
                return Self::rate_limit(u32::try_from(seconds).unwrap_or(u32::MAX));
            }
            IntegrityError::Unavailable(_) => return Self::unavailable(),
            _ => return Self::internal(),
        };
        Self::integrity(code, error.to_string())
    }
}

impl From<LoginError> for WireError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Missing { .. } => Self::transport(error.to_string()),
            LoginError::Wrong => IntegrityError::BadCredentials.into(),
            LoginError::Busy => Self::unavailable(),
            _ => Self::internal(),
        }
    }
}

impl From<BearerError> for WireError {
    fn from(error: BearerError) -> Self {
        let (code, challenge) = match &error {
            BearerError::Missing => (Code::TokenMissing, Challenge::Bearer),
            BearerError::Invalid(_) | BearerError::UnknownKey => {
                (Code::TokenInvalid, Challenge::InvalidBearer)
            }
            BearerError::Expired => (Code::TokenExpired, Challenge::InvalidBearer),
            BearerError::Unsigned => (Code::SignatureMissing, Challenge::Mesh),
            BearerError::NoKeys => return Self::unavailable(),
            _ => return Self::internal(),
        };
        Self::integrity(code, error.to_string()).with_challenge(challenge)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mesh_integrity::{BindingFault, StoreError};

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn other_errors_have_other_kinds() {
        let fault = WireError::from(IntegrityError::Binding(BindingFault::Nonce));
        assert_eq!((fault.kind, fault.status.as_u16(), fault.code), (ErrorKind::Transport, 400, None));
        let full = WireError::from(IntegrityError::Unavailable(StoreError::Full));
        assert_eq!((full.status.as_u16(), full.retry_after), (503, Some(1)));
        let too_many = IntegrityError::TooManyNonces { retry_after: Duration::from_millis(1_001) };
        let too_many = WireError::from(too_many);
        assert_eq!(
            (too_many.kind, too_many.status.as_u16(), too_many.retry_after),
            (ErrorKind::RateLimit, 429, Some(2))
        );
        let without_keys = WireError::from(BearerError::NoKeys);
        assert_eq!((without_keys.status.as_u16(), without_keys.retry_after), (503, Some(1)));
        let missing = WireError::from(LoginError::Missing { field: "password" });
        assert_eq!((missing.kind, missing.status.as_u16()), (ErrorKind::Transport, 400));
        assert!(missing.message.contains("'password'"));
        let wrong = WireError::from(LoginError::Wrong);
        assert_eq!((wrong.status.as_u16(), wrong.code), (401, Some(Code::BadCredentials)));
        assert_eq!(WireError::from(LoginError::Busy).status.as_u16(), 503);
        let failed = WireError::from(LoginError::new("the disk is on fire"));
        assert_eq!(failed.status.as_u16(), 500);
        assert!(!failed.message.contains("disk"));
    }
}
