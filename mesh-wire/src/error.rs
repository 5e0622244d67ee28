//! The error table of the protocol: the status, kind, code and message of every failure. `SPEC §12.1`

#[cfg(feature = "integrity")]
mod integrity;
#[cfg(feature = "plan")]
mod plan;
#[cfg(feature = "uploads")]
mod uploads;

use std::borrow::Cow;
use std::fmt;

use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use crate::{AllowedMethods, RequestId};

/// What `error` may say in an error body; [`ErrorKind::ALL`] is the one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request cannot be read.
    Transport,
    /// The query, or a write, does not fit the schema or the bounds.
    Validation,
    /// Token or signature is missing or wrong, or does not permit this.
    Integrity,
    /// A resolver failed.
    Resolver,
    /// Something failed that should not.
    Internal,
    /// Nothing is at the path.
    NotFound,
    /// The path does not take the method.
    MethodNotAllowed,
    /// A write goes against a constraint.
    Conflict,
    /// Too many requests.
    RateLimit,
    /// The server cannot answer now.
    Unavailable,
}

impl ErrorKind {
    /// All kinds, in the order in which documents list them.
    pub const ALL: [Self; 10] = [
        Self::Transport,
        Self::Validation,
        Self::Integrity,
        Self::Resolver,
        Self::Internal,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::RateLimit,
        Self::Unavailable,
    ];

    /// The value of `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transport => "TransportError",
            Self::Validation => "ValidationError",
            Self::Integrity => "IntegrityError",
            Self::Resolver => "ResolverError",
            Self::Internal => "InternalError",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::Conflict => "ConflictError",
            Self::RateLimit => "RateLimitError",
            Self::Unavailable => "Unavailable",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The status unless the single error says otherwise: some transport errors have one of their own,
    /// and some integrity errors are 403.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Transport | Self::Validation => StatusCode::BAD_REQUEST,
            Self::Integrity => StatusCode::UNAUTHORIZED,
            Self::Resolver | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// What `code` may say in an error body; [`Code::ALL`] is the one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A cursor that is not of this query, or was altered. `SPEC §5.4`
    CursorMismatch,
    /// More objects than one response may have. `SPEC §3.11`
    ResultTooLarge,
    /// A sum of integers past 64 bits. `SPEC §3.12`
    SumOverflow,
    /// A resolver ran out of time. `SPEC §12.1`
    Timeout,
    /// A query id that is not registered. `SPEC §8.4`
    QueryIdUnknown,
    /// No token where one is needed. `SPEC §7.6`, as all that follow
    TokenMissing,
    /// A token that this deployment did not make, or that was altered.
    TokenInvalid,
    /// A token past its time.
    TokenExpired,
    /// A token whose session was ended.
    TokenRevoked,
    /// No signature, or none of the form that is required.
    SignatureMissing,
    /// A signature made at another time, or seen before.
    Replayed,
    /// A login that fits no account.
    BadCredentials,
    /// A signature of something else than what was sent.
    SignatureInvalid,
    /// An upload whose statement lacks the hash of its file.
    ContentHashMissing,
    /// A file that is not the one whose hash was stated.
    ContentHashMismatch,
    /// A query that is not among those that are allowed.
    QueryNotAllowed,
    /// Something that this session may not do.
    Forbidden,
}

impl Code {
    /// All codes, in the order in which documents list them.
    pub const ALL: [Self; 17] = [
        Self::CursorMismatch,
        Self::ResultTooLarge,
        Self::SumOverflow,
        Self::Timeout,
        Self::QueryIdUnknown,
        Self::TokenMissing,
        Self::TokenInvalid,
        Self::TokenExpired,
        Self::TokenRevoked,
        Self::SignatureMissing,
        Self::Replayed,
        Self::BadCredentials,
        Self::SignatureInvalid,
        Self::ContentHashMissing,
        Self::ContentHashMismatch,
        Self::QueryNotAllowed,
        Self::Forbidden,
    ];

    /// The value of `code`.
    pub fn name(self) -> &'static str {
        match self {
            Self::CursorMismatch => "CURSOR_MISMATCH",
            Self::ResultTooLarge => "RESULT_TOO_LARGE",
            Self::SumOverflow => "SUM_OVERFLOW",
            Self::Timeout => "TIMEOUT",
            Self::QueryIdUnknown => "QUERY_ID_UNKNOWN",
            Self::TokenMissing => "TOKEN_MISSING",
            Self::TokenInvalid => "TOKEN_INVALID",
            Self::TokenExpired => "TOKEN_EXPIRED",
            Self::TokenRevoked => "TOKEN_REVOKED",
            Self::SignatureMissing => "SIGNATURE_MISSING",
            Self::Replayed => "REPLAYED",
            Self::BadCredentials => "BAD_CREDENTIALS",
            Self::SignatureInvalid => "SIGNATURE_INVALID",
            Self::ContentHashMissing => "CONTENT_HASH_MISSING",
            Self::ContentHashMismatch => "CONTENT_HASH_MISMATCH",
            Self::QueryNotAllowed => "QUERY_NOT_ALLOWED",
            Self::Forbidden => "FORBIDDEN",
        }
    }

    /// The status of an integrity error of that code: 403 where the session is known but may not do this,
    /// 401 where a login would help. `SPEC §7.6`
    fn integrity_status(self) -> StatusCode {
        match self {
            Self::SignatureInvalid
            | Self::ContentHashMissing
            | Self::ContentHashMismatch
            | Self::QueryNotAllowed
            | Self::Forbidden => StatusCode::FORBIDDEN,
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// The code of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

/// A failure as the client is told of it. [`crate::response::error`] makes the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    /// The row of the error table.
    pub kind: ErrorKind,
    /// The status.
    pub status: StatusCode,
    /// One sentence for a reader.
    pub message: Cow<'static, str>,
    /// A word for programs, where one exists.
    pub code: Option<Code>,
    /// Where in the query, as dotted refs from the root.
    pub path: Option<String>,
    /// Line of the query's text, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// The methods that would have been right, for a 405.
    pub allow: Option<AllowedMethods>,
    /// Seconds after which to try again.
    pub retry_after: Option<u32>,
}

impl WireError {
    /// An error of that kind with its usual status and nothing but words. For kinds that answer 500, use
    /// [`WireError::resolver`] and [`WireError::internal`], whose words are fixed.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            code: None,
            path: None,
            line: None,
            column: None,
            allow: None,
            retry_after: None,
        }
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// The same with a place in the query; an empty path is none.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into()).filter(|path| !path.is_empty());
        self
    }

    #[must_use]
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// 400: the request cannot be read.
    pub fn transport(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Transport, message)
    }

    /// 400: the query does not fit.
    pub fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// 401 or 403, as the code says: the request is not permitted. `SPEC §7.6`
    pub fn integrity(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Integrity, message).with_status(code.integrity_status()).with_code(code)
    }

    /// 404: nothing is at the path.
    pub fn not_found() -> Self {
        let words = "Nothing is at this path; reads are at :entity and :entity/:id under the base path";
        Self::new(ErrorKind::NotFound, words)
    }

    /// 405: the path does not take that method.
    pub fn method_not_allowed(method: &Method, allow: AllowedMethods) -> Self {
        let words = format!("{method} is not allowed on this path, which takes {allow}");
        Self { allow: Some(allow), ..Self::new(ErrorKind::MethodNotAllowed, words) }
    }

    /// 413: the body is over the bound.
    pub fn payload_too_large(limit: u64) -> Self {
        Self::transport(format!("The body is larger than {limit} bytes"))
            .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// 414: the request line alone is over the bound of the head.
    pub fn uri_too_long(limit: usize) -> Self {
        let words = format!("The request line is longer than {limit} bytes");
        Self::transport(words).with_status(StatusCode::URI_TOO_LONG)
    }

    /// 415: the body is of another type.
    pub fn unsupported_media_type() -> Self {
        Self::transport("The body must be JSON; send Content-Type: application/json")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }

    /// 431: request line and headers are over the bound.
    pub fn headers_too_large(limit: usize) -> Self {
        let words =
            format!("The headers are larger than {limit} bytes; send a long query as the body of a POST");
        Self::transport(words).with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    }

    /// 400 `QUERY_ID_UNKNOWN`: the client may register the query again.
    pub fn query_id_unknown() -> Self {
        Self::transport("The query id is not registered here; register the query, or send it as text")
            .with_code(Code::QueryIdUnknown)
    }

    /// 500: a resolver failed. What went wrong is for the log only.
    pub fn resolver() -> Self {
        Self::new(
            ErrorKind::Resolver,
            "The data could not be read; the log has the cause under this request id",
        )
    }

    /// 500 `TIMEOUT`: a resolver ran out of time.
    pub fn timeout() -> Self {
        Self::new(ErrorKind::Resolver, "The read took too long and was stopped").with_code(Code::Timeout)
    }

    /// 500: something failed that should not. What went wrong is for the log only.
    pub fn internal() -> Self {
        Self::new(ErrorKind::Internal, "The server failed; the log has the cause under this request id")
    }

    /// 429: too many requests; try again after that many seconds.
    pub fn rate_limit(retry_after: u32) -> Self {
        let words = "Too many requests; wait as long as Retry-After says";
        Self { retry_after: Some(retry_after), ..Self::new(ErrorKind::RateLimit, words) }
    }

    /// 503: the server cannot answer now; try again after that many seconds.
    pub fn unavailable(retry_after: u32) -> Self {
        let words = "The server is busy or stopping; wait as long as Retry-After says";
        Self { retry_after: Some(retry_after), ..Self::new(ErrorKind::Unavailable, words) }
    }

    /// What the reply's body says.
    pub fn body(&self, request_id: &RequestId) -> ErrorBody {
        ErrorBody {
            error: self.kind.name().to_owned(),
            message: self.message.clone().into_owned(),
            request_id: Some(request_id.as_str().to_owned()),
            code: self.code.map(|code| code.name().to_owned()),
            path: self.path.clone(),
            line: self.line,
            column: self.column,
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for WireError {}

/// Faults of a query's text are validation errors with their place. `SPEC §3.4`
impl From<mesh_ql::SyntaxError> for WireError {
    fn from(error: mesh_ql::SyntaxError) -> Self {
        let plain = Self::validation(error.message);
        Self { path: error.path, line: error.line, column: error.column, ..plain }
    }
}

/// The body of an error reply, as both sides see it. Names are open on this side of the line: a server of
/// a later version may say more than [`ErrorKind`] and [`Code`] know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The name of an [`ErrorKind`].
    pub error: String,
    /// One sentence for a reader.
    pub message: String,
    /// The id under which the server's log has the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The name of a [`Code`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where in the query, as dotted refs from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line of the query's text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error, self.message)?;
        if let Some(code) = &self.code {
            write!(f, " [{code}]")?;
        }
        if let Some(path) = &self.path {
            write!(f, " at {path}")?;
        }
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, " (line {line}, column {column})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
