//! Reasons for refusing an upload. Statuses are assigned in mesh-wire.

use std::error::Error;
use std::fmt;

use crate::content_hash::ContentHash;
use crate::statement::StatementError;
use crate::store::StoreError;

/// Any error, as bodies bring them along.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why an upload was not stored. Nothing of it is left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum UploadError {
    /// The signed statement does not hold.
    Statement(StatementError),
    /// A hash of the file must be stated, and none is.
    HashMissing,
    /// The bytes have another hash than was stated.
    HashMismatch {
        /// What the client stated.
        stated: ContentHash,
        /// What came.
        found: ContentHash,
    },
    /// The file is over the field's bound.
    TooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The field does not take files of that type.
    TypeNotAllowed {
        /// The declared type, cut to a readable length.
        found: String,
        /// The types that it takes; empty if any well-formed one would do.
        allowed: Vec<String>,
    },
    /// The request's form is wrong.
    Multipart(MultipartError),
    /// The body broke off, or its own bounds were passed.
    Body(BoxError),
    /// The store failed.
    Store(StoreError),
}

/// What is wrong with the form of a multipart request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipartError {
    /// The body is of another type than `multipart/form-data`.
    NotForm,
    /// The content type names no usable boundary.
    Boundary {
        /// The longest boundary that is taken.
        limit: usize,
    },
    /// Boundaries or headers are not where they must be, or the last boundary is missing.
    Broken,
    /// The headers of a part, or what stands before the first one, are too long.
    Headers {
        /// The bound, in bytes.
        limit: usize,
    },
    /// There is a part of another name.
    Unknown {
        /// Its name, cut to a readable length.
        name: String,
    },
    /// A part comes a second time.
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// `meta` is not a JSON object, or gives a name twice.
    Meta {
        /// What is wrong with it.
        message: String,
    },
    /// `meta` is too long.
    MetaTooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// There is no file.
    NoFile,
    /// Too much follows the last boundary.
    Trailer {
        /// The bound, in bytes.
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
                write!(f, "There is no part '{name}' in an upload; send 'file', and 'meta' if need be")
            }
            Self::Twice { name } => write!(f, "The part '{name}' is there twice"),
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
                f.write_str("The upload statement must have a 'contentHash', the SHA-256 of the file")
            }
            Self::HashMismatch { stated, found } => {
                write!(f, "The file has the hash {found}, not {stated} as stated")
            }
            Self::TooLarge { limit } => write!(f, "The file is larger than {limit} bytes"),
            Self::TypeNotAllowed { found, allowed } if allowed.is_empty() => {
                write!(f, "'{}' is no content type", found.escape_debug())
            }
            Self::TypeNotAllowed { found, allowed } => {
                let allowed = allowed.join(", ");
                write!(f, "Content type '{}' is not taken here; send {allowed}", found.escape_debug())
            }
            Self::Multipart(error) => fmt::Display::fmt(error, f),
            Self::Body(_) => f.write_str("The body of the upload could not be read to its end"),
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
