//! Reasons for refusing an upload. Statuses are assigned in mesh-wire.

use std::error::Error;
use std::fmt;

use crate::content_hash::ContentHash;
use crate::statement::StatementError;
use crate::store::StoreError;

/// The error of a body or store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An upload was not stored. No part of it remains in the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum UploadError {
    /// The signed statement is invalid.
    Statement(StatementError),
    /// The statement has no hash although one is required.
    HashMissing,
    /// The file has another hash than stated.
    HashMismatch {
        /// The hash in the statement.
        stated: ContentHash,
        /// The hash of the received file.
        found: ContentHash,
    },
    /// The file is larger than the field allows.
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The field does not accept the content type.
    TypeNotAllowed {
        /// The declared type, truncated.
        found: String,
        /// The accepted types; empty if all well-formed types are accepted.
        allowed: Vec<String>,
    },
    /// The multipart body is invalid.
    Multipart(MultipartError),
    /// The stream of the body failed.
    Body(BoxError),
    /// The store failed.
    Store(StoreError),
}

/// A multipart body is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipartError {
    /// The content type is not `multipart/form-data`.
    NotForm,
    /// The content type has no valid boundary.
    Boundary {
        /// The maximum length in bytes.
        limit: usize,
    },
    /// Boundaries or headers are malformed, or the last boundary is missing.
    Broken,
    /// The headers of a part, or the text before the first part, are too long.
    Headers {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A part has an unknown name.
    Unknown {
        /// The name, truncated.
        name: String,
    },
    /// A part is repeated.
    Twice {
        /// The name of the part.
        name: &'static str,
    },
    /// The part `meta` is not a JSON object with unique names.
    Meta {
        /// The reason.
        message: String,
    },
    /// The part `meta` is too long.
    MetaTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The part `file` is missing.
    NoFile,
    /// Too much follows the last boundary.
    Trailer {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotForm => f.write_str("A file must be sent as Content-Type: multipart/form-data"),
            Self::Boundary { limit } => {
                write!(f, "Content-Type must name a boundary of 1 to {limit} characters")
            }
            Self::Broken => f.write_str("The multipart body is malformed, or ends before its last boundary"),
            Self::Headers { limit } => write!(f, "The headers of a part are longer than {limit} bytes"),
            Self::Unknown { name } => {
                write!(f, "An upload must not have a part '{name}'; send 'file' and, optionally, 'meta'")
            }
            Self::Twice { name } => write!(f, "The part '{name}' is repeated; send it once"),
            Self::Meta { message } => write!(f, "The part 'meta' must be a JSON object: {message}"),
            Self::MetaTooLarge { limit } => write!(f, "The part 'meta' is longer than {limit} bytes"),
            Self::NoFile => f.write_str("The part 'file' is missing"),
            Self::Trailer { limit } => write!(f, "More than {limit} bytes follow the last boundary"),
        }
    }
}

impl Error for MultipartError {}

impl fmt::Display for UploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement(error) => fmt::Display::fmt(error, f),
            Self::HashMissing => {
                f.write_str("The upload statement must have 'contentHash', the SHA-256 of the file")
            }
            Self::HashMismatch { stated, found } => {
                write!(f, "The file has the hash {found}, not {stated} as stated")
            }
            Self::TooLarge { limit } => write!(f, "The file is larger than {limit} bytes"),
            Self::TypeNotAllowed { found, allowed } if allowed.is_empty() => {
                write!(f, "'{}' is not a content type", found.escape_debug())
            }
            Self::TypeNotAllowed { found, allowed } => {
                let allowed = allowed.join(", ");
                write!(f, "Content type '{}' is not accepted; send {allowed}", found.escape_debug())
            }
            Self::Multipart(error) => fmt::Display::fmt(error, f),
            Self::Body(_) => f.write_str("The body of the upload could not be read completely"),
            Self::Store(_) => f.write_str("The file could not be stored"),
        }
    }
}

impl Error for UploadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Body(error) => Some(error.as_ref()),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StatementError> for UploadError {
    fn from(error: StatementError) -> Self {
        Self::Statement(error)
    }
}

impl From<MultipartError> for UploadError {
    fn from(error: MultipartError) -> Self {
        Self::Multipart(error)
    }
}

impl From<StoreError> for UploadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
