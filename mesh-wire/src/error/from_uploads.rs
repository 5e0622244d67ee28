//! Conversion of the errors of mesh-uploads. `SPEC §9.6`

use http::StatusCode;
use mesh_uploads::{MultipartError, StatementError, StoreError, StoreErrorKind, UploadError};

use crate::{Code, ErrorKind, WireError};

impl From<UploadError> for WireError {
    fn from(error: UploadError) -> Self {
        let message = error.to_string();
        match error {
            UploadError::Statement(error) => error.into(),
            UploadError::HashMissing | UploadError::StatementIncomplete { .. } => {
                Self::integrity(Code::ContentHashMissing, message)
            }
            UploadError::HashMismatch { .. }
            | UploadError::MetaMismatch
            | UploadError::TypeMismatch { .. } => Self::integrity(Code::ContentHashMismatch, message),
            UploadError::TooLarge { .. } | UploadError::Multipart(MultipartError::MetaTooLarge { .. }) => {
                Self::transport(message).with_status(StatusCode::PAYLOAD_TOO_LARGE)
            }
            UploadError::TypeNotAllowed { .. } | UploadError::Multipart(MultipartError::NotForm) => {
                Self::transport(message).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            // The caller's stream may fail with a `WireError`, such as one for a slow client.
            UploadError::Body(error) => {
                error.downcast::<Self>().map_or_else(|_| Self::transport(message), |error| *error)
            }
            UploadError::Store(error) => error.into(),
            _ => Self::transport(message),
        }
    }
}

impl From<StatementError> for WireError {
    fn from(error: StatementError) -> Self {
        let plain = Self::validation(error.to_string());
        match error {
            StatementError::Syntax { line, column, .. } => {
                Self { line: Some(line), column: Some(column), ..plain }
            }
            _ => plain,
        }
    }
}

impl From<StoreError> for WireError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreErrorKind::Unreachable | StoreErrorKind::Busy => Self::unavailable(),
            StoreErrorKind::TimedOut => {
                Self::new(ErrorKind::Resolver, "The file store did not answer in time")
                    .with_code(Code::Timeout)
            }
            _ => Self::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn summary(error: UploadError) -> String {
        let wire = WireError::from(error);
        let code = wire.code.map_or("-", Code::as_str);
        format!("{} {} {code}", wire.status.as_u16(), wire.kind.as_str())
    }

    #[test]
    fn failures_have_their_status_kind_and_code() {
        let cases = [
            (UploadError::Body("gone".into()), "400 TransportError -"),
            (UploadError::Body(WireError::unavailable().into()), "503 Unavailable -"),
            (
                StoreError::new("write", io::Error::from(io::ErrorKind::StorageFull)).into(),
                "500 InternalError -",
            ),
            (
                StoreError::new("write", "refused").with_kind(StoreErrorKind::Unreachable).into(),
                "503 Unavailable -",
            ),
            (
                StoreError::new("write", "late").with_kind(StoreErrorKind::TimedOut).into(),
                "500 ResolverError TIMEOUT",
            ),
        ];
        for (error, expected) in cases {
            let message = error.to_string();
            assert_eq!(summary(error), expected, "{message}");
        }
    }

    #[test]
    fn details_of_store_errors_are_not_sent() {
        let error =
            UploadError::from(StoreError::new("open /srv/files", io::Error::from(io::ErrorKind::NotFound)));
        assert_eq!(WireError::from(error), WireError::internal());
    }
}
