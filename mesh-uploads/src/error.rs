//! Reasons for refusing an upload. Statuses are assigned in mesh-wire.

use std::error::Error;

use thiserror::Error;

use crate::content_hash::ContentHash;
use crate::content_type::ContentType;

/// A boxed error of a body or a store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The reason why an upload was not stored. No part of it remains in the store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError {
    /// The signed statement is invalid.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The statement has no hash although one is required.
    #[error("The upload statement must have 'contentHash', the SHA-256 of the file")]
    HashMissing,
    /// The hash of the file differs from the stated hash.
    #[error("The file has the hash {found}, but the upload statement says {stated}")]
    HashMismatch {
        /// The hash in the statement.
        stated: ContentHash,
        /// The hash of the received file.
        found: ContentHash,
    },
    /// The statement lacks the content type of the file, or the hash of the part `meta`, although it is required.
    #[error("The signed statement of an upload must have '{name}'")]
    StatementIncomplete {
        /// The missing member.
        name: &'static str,
    },
    /// The hash of the part `meta` differs from the stated hash, or the part is missing although its hash is stated.
    #[error("The part 'meta' is missing or does not have the hash stated in 'metaHash'")]
    MetaMismatch,
    /// The content type of the file differs from the stated type.
    #[error("The file has the content type '{found}', but the upload statement says '{stated}'")]
    TypeMismatch {
        /// The type in the statement.
        stated: ContentType,
        /// The type of the part.
        found: ContentType,
    },
    /// The file is larger than the field allows.
    #[error("The file is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The field does not accept the content type.
    #[error("{}", type_not_allowed(.found, .allowed))]
    TypeNotAllowed {
        /// The declared type, truncated.
        found: String,
        /// The accepted types; empty if all well-formed types are accepted.
        allowed: Vec<String>,
    },
    /// The multipart body is invalid.
    #[error(transparent)]
    Multipart(#[from] MultipartError),
    /// The stream of the body failed.
    #[error("The body of the upload could not be read completely")]
    Body(#[source] BoxError),
    /// The store failed.
    #[error("The file could not be stored")]
    Store(#[from] StoreError),
}

fn type_not_allowed(found: &str, allowed: &[String]) -> String {
    let found = found.escape_debug();
    if allowed.is_empty() {
        return format!("'{found}' is not a content type");
    }
    format!("Content type '{found}' is not accepted; send {}", allowed.join(", "))
}

/// The reason why a multipart body is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MultipartError {
    /// The content type is not `multipart/form-data`.
    #[error("A file must be sent as Content-Type: multipart/form-data")]
    NotForm,
    /// The content type has no valid boundary.
    #[error("Content-Type must name a boundary of 1 to {limit} characters")]
    Boundary {
        /// The maximum length in bytes.
        limit: usize,
    },
    /// Boundaries or headers are malformed, or the last boundary is missing.
    #[error("The multipart body is malformed, or ends before its last boundary")]
    Broken,
    /// The headers of a part, or the text before the first part, are too long.
    #[error("The headers of a part are longer than {limit} bytes")]
    Headers {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A part has an unknown name.
    #[error("An upload must not have a part '{name}'; send 'file' and, optionally, 'meta'")]
    Unknown {
        /// The name, truncated.
        name: String,
    },
    /// A part is repeated.
    #[error("The part '{name}' is repeated; send it once")]
    Twice {
        /// The name of the part.
        name: &'static str,
    },
    /// The part `meta` is not a JSON object with unique names.
    #[error("The part 'meta' must be a JSON object: {message}")]
    Meta {
        /// The reason.
        message: String,
    },
    /// The part `meta` is too long.
    #[error("The part 'meta' is longer than {limit} bytes")]
    MetaTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The part `file` is missing.
    #[error("The part 'file' is missing")]
    NoFile,
    /// Too many bytes follow the last boundary.
    #[error("More than {limit} bytes follow the last boundary")]
    Trailer {
        /// The limit, in bytes.
        limit: usize,
    },
}

/// An error of a store. It may contain paths and addresses, and belongs in logs only.
#[derive(Debug, Error)]
#[error("The file store failed to {doing}")]
pub struct StoreError {
    /// The operation that failed, such as "open a file".
    pub doing: &'static str,
    /// Whether the operation may succeed if it is repeated.
    pub kind: StoreErrorKind,
    /// The cause.
    pub source: BoxError,
}

/// Whether an operation of a store may succeed if it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store refused the operation, or the cause is unknown.
    Failed,
    /// The store could not be reached.
    Unreachable,
    /// The store is overloaded.
    Busy,
    /// The store did not answer in time.
    TimedOut,
}

impl StoreError {
    /// Creates an error of the operation `doing`.
    pub fn new(doing: &'static str, source: impl Into<BoxError>) -> Self {
        Self { doing, kind: StoreErrorKind::Failed, source: source.into() }
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(self, kind: StoreErrorKind) -> Self {
        Self { kind, ..self }
    }
}

/// The reason why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StatementError {
    /// The text is not JSON, or repeats a name.
    #[error("The upload statement is not JSON: {message}")]
    Syntax {
        /// The reason.
        message: String,
        /// The 1-based line.
        line: u32,
        /// The 1-based column.
        column: u32,
    },
    /// The JSON does not have the form of a statement.
    #[error(
        "The upload statement must have the form {{\"<entity>\": {{\"<field>\": {{\"upload\": true}}}}, \
         \"contentHash\": \"sha256:<64 hex digits>\"}}"
    )]
    Form,
    /// A hash is malformed.
    #[error("'{name}' must be 'sha256:' and 64 hex digits")]
    Hash {
        /// The name of the member.
        name: &'static str,
    },
    /// The content type is malformed.
    #[error("'contentType' must be a content type such as 'image/png'")]
    ContentType,
    /// The statement names another entity than the path.
    #[error("The upload statement is for entity '{stated}', but the path names '{expected}'")]
    OtherEntity {
        /// The entity of the statement.
        stated: String,
        /// The entity of the path.
        expected: String,
    },
    /// The path names a field, but the statement does not.
    #[error("The upload statement names no field, but the path names '{expected}'")]
    NoField {
        /// The field of the path.
        expected: String,
    },
    /// The statement names another field than the path.
    #[error("The upload statement is for field '{stated}', but the path names '{expected}'")]
    OtherField {
        /// The field of the statement.
        stated: String,
        /// The field of the path.
        expected: String,
    },
}

impl StatementError {
    pub(crate) fn syntax(error: &serde_json::Error) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let text = error.to_string();
        // serde_json appends the position, which has separate fields here.
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
        Self::Syntax {
            message: message.to_owned(),
            line: number(error.line()),
            column: number(error.column()),
        }
    }
}
