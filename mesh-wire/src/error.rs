//! The error table of the protocol: the status, kind, code and message of every failure. `SPEC §12.1`

mod body;
#[cfg(feature = "integrity")]
mod from_integrity;
#[cfg(feature = "plan")]
mod from_plan;
#[cfg(feature = "uploads")]
mod from_uploads;
mod retry_after;

use std::borrow::Cow;

use http::{Method, StatusCode};
use mesh_ql::{SyntaxError, named_enum};
use thiserror::Error;

use crate::{AllowedMethods, BasePath, RequestId};
pub use body::{ErrorBody, FieldError};

named_enum! {
    /// The kind of an error: the member `error` of an error body.
    ErrorKind {
        /// The request cannot be decoded.
        Transport = "TransportError",
        /// A query or write does not match the schema, or exceeds a limit.
        Validation = "ValidationError",
        /// The token or signature is missing or invalid, or the session lacks a permission.
        Integrity = "IntegrityError",
        /// A resolver failed.
        Resolver = "ResolverError",
        /// The server failed unexpectedly.
        Internal = "InternalError",
        /// The path or record does not exist.
        NotFound = "NotFound",
        /// The path does not allow the method.
        MethodNotAllowed = "MethodNotAllowed",
        /// A write violates a constraint.
        Conflict = "ConflictError",
        /// The record is not in the state that the write requires.
        Precondition = "PreconditionFailed",
        /// Too many requests.
        RateLimit = "RateLimitError",
        /// The server is temporarily unable to answer.
        Unavailable = "Unavailable",
    }
}

impl ErrorKind {
    /// Returns the default status. Some transport errors have a more specific one, and some integrity errors are 403.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Transport | Self::Validation => StatusCode::BAD_REQUEST,
            Self::Integrity => StatusCode::UNAUTHORIZED,
            Self::Resolver | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Precondition => StatusCode::PRECONDITION_FAILED,
            Self::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

named_enum! {
    /// A machine-readable reason: the member `code` of an error body.
    #[non_exhaustive]
    Code {
        /// The cursor belongs to another query, or was altered. `SPEC §5.4`
        CursorMismatch = "CURSOR_MISMATCH",
        /// The response would have more objects than allowed. `SPEC §3.11`
        ResultTooLarge = "RESULT_TOO_LARGE",
        /// An order by values of related records would scan too many rows. `SPEC §14.9`
        SortTooLarge = "SORT_TOO_LARGE",
        /// A sum of integers exceeds 64 bits. `SPEC §3.12`
        SumOverflow = "SUM_OVERFLOW",
        /// A resolver exceeded its deadline. `SPEC §12.1`
        Timeout = "TIMEOUT",
        /// The query id is not registered. `SPEC §8.4`
        QueryIdUnknown = "QUERY_ID_UNKNOWN",
        /// The request requires a token. This code and the following ones: `SPEC §7.6`
        TokenMissing = "TOKEN_MISSING",
        /// The token was not issued by this deployment, or was altered.
        TokenInvalid = "TOKEN_INVALID",
        /// The token has expired.
        TokenExpired = "TOKEN_EXPIRED",
        /// The session of the token was logged out.
        TokenRevoked = "TOKEN_REVOKED",
        /// The signature is missing, or not bound to one use although that is required.
        SignatureMissing = "SIGNATURE_MISSING",
        /// The signature is too old or too new, or was used before.
        Replayed = "REPLAYED",
        /// The credentials of a login are wrong.
        BadCredentials = "BAD_CREDENTIALS",
        /// The signature does not match the request.
        SignatureInvalid = "SIGNATURE_INVALID",
        /// The statement of an upload lacks a hash, or the content type of the file.
        ContentHashMissing = "CONTENT_HASH_MISSING",
        /// The hash or content type of a part of an upload differs from the statement.
        ContentHashMismatch = "CONTENT_HASH_MISMATCH",
        /// The query is not one of the allowed queries.
        QueryNotAllowed = "QUERY_NOT_ALLOWED",
        /// The session lacks the permission.
        Forbidden = "FORBIDDEN",
        /// The database did not say whether it has committed a write. `SPEC §23.1`
        OutcomeUnknown = "OUTCOME_UNKNOWN",
        /// A write is in effect, but its reply failed. `SPEC §23.1`
        ReplyFailed = "REPLY_FAILED",
    }
}

named_enum! {
    /// What became of the write of a request that failed: the member `effect` of an error body. `SPEC §23.1`
    Effect {
        /// Nothing was written; the request can be sent again.
        None = "none",
        /// The write is in effect; only its reply is missing.
        Applied = "applied",
        /// The write may be in effect.
        Unknown = "unknown",
    }
}

impl Code {
    /// Returns the status of an integrity error: 401 if a new login or signature would help, else 403. `SPEC §7.6`
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
}

/// The credentials that a 401 asks for in `WWW-Authenticate`. `SPEC §7.6`, `SPEC §17.4`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Challenge {
    /// A session.
    #[default]
    Mesh,
    /// A bearer.
    Bearer,
    /// A valid bearer; the request had an invalid one.
    InvalidBearer,
    /// A session or a bearer.
    Any,
}

impl Challenge {
    /// Returns the values of the header.
    pub(crate) fn values(self) -> &'static [&'static str] {
        match self {
            Self::Mesh => &["Mesh"],
            Self::Bearer => &["Bearer"],
            Self::InvalidBearer => &["Bearer error=\"invalid_token\""],
            Self::Any => &["Mesh", "Bearer"],
        }
    }
}

/// An error as it is sent to the client by [`crate::response::error`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}: {message}")]
pub struct WireError {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The status of the reply.
    pub status: StatusCode,
    /// A human-readable sentence.
    pub message: Cow<'static, str>,
    /// A machine-readable reason.
    pub code: Option<Code>,
    /// The location in the query, as dotted refs from the root.
    pub path: Option<String>,
    /// The 1-based line of the query's text.
    pub line: Option<u32>,
    /// The 1-based column, in characters.
    pub column: Option<u32>,
    /// The members of a write's body that are at fault. `SPEC §12.1`
    pub fields: Vec<FieldError>,
    /// The step of a batch that failed, counted from 0.
    pub step: Option<u32>,
    /// The methods that the path allows, for a 405.
    pub allow: Option<AllowedMethods>,
    /// The number of seconds after which to retry.
    pub retry_after: Option<u32>,
    /// The credentials that a 401 asks for.
    pub challenge: Challenge,
    /// What became of the write of the request; `None` if it is no write, or if the error does not decide it.
    pub effect: Option<Effect>,
}

impl WireError {
    /// Creates an error with the default status of its kind. For errors with status 500, use [`WireError::resolver`] and
    /// [`WireError::internal`], whose messages reveal no internals.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            status: kind.status(),
            message: message.into(),
            code: None,
            path: None,
            line: None,
            column: None,
            fields: Vec::new(),
            step: None,
            allow: None,
            retry_after: None,
            challenge: Challenge::default(),
            effect: None,
        }
    }

    /// Sets the credentials that a 401 asks for.
    #[must_use]
    pub fn with_challenge(mut self, challenge: Challenge) -> Self {
        self.challenge = challenge;
        self
    }

    /// Sets the code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets the location in the query; an empty path means none.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into()).filter(|path| !path.is_empty());
        self
    }

    /// Sets the members of a write's body that are at fault, each with a message.
    #[must_use]
    pub fn with_fields<'a>(mut self, fields: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let error = |(path, message): (&str, String)| FieldError { path: path.to_owned(), message };
        self.fields = fields.into_iter().map(error).collect();
        self
    }

    /// Sets the step of a batch that failed. The batch gets the status of the step, but has no `Allow`.
    #[must_use]
    pub fn at_step(self, step: usize) -> Self {
        Self { step: u32::try_from(step).ok(), allow: None, ..self }
    }

    #[must_use]
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Creates a 400: the request cannot be decoded.
    pub fn transport(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Transport, message)
    }

    /// Creates a 400: the query or write is invalid.
    pub fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// Creates a 401 or 403, depending on the code: the request is not permitted. `SPEC §7.6`
    pub fn integrity(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Integrity, message).with_status(code.integrity_status()).with_code(code)
    }

    /// Creates a 404: the path does not exist.
    pub fn not_found() -> Self {
        Self::new(ErrorKind::NotFound, "There is no such path")
    }

    /// Creates a 404: the path is not one of the protocol.
    pub(crate) fn no_route(base: &BasePath) -> Self {
        let message = format!("There is no such path; records are at {base}/ENTITY and {base}/ENTITY/ID");
        Self::new(ErrorKind::NotFound, message)
    }

    /// Creates a 405: the path does not allow the method.
    pub fn method_not_allowed(method: &Method, allow: AllowedMethods) -> Self {
        let message = match *method {
            Method::GET | Method::HEAD if allow.is_empty() => format!(
                "{method} is not available on this path; to read relations, use a query on their record"
            ),
            _ if allow.is_empty() => {
                format!(
                    "{method} is not available on this path, because the feature that serves it is turned off on this server"
                )
            }
            Method::POST | Method::PUT | Method::DELETE => format!(
                "{method} is not allowed on this path, or belongs to a feature that is turned off (writes, uploads); the allowed methods are {allow}"
            ),
            _ => format!("{method} is not allowed on this path; the allowed methods are {allow}"),
        };
        Self { allow: Some(allow), ..Self::new(ErrorKind::MethodNotAllowed, message) }
    }

    /// Creates a 413: the body is larger than `limit` bytes.
    pub fn payload_too_large(limit: u64) -> Self {
        Self::transport(format!("The body is larger than {limit} bytes"))
            .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Creates a 414: the request line alone is longer than `limit` bytes.
    pub fn uri_too_long(limit: usize) -> Self {
        let message = format!("The request line is longer than {limit} bytes");
        Self::transport(message).with_status(StatusCode::URI_TOO_LONG)
    }

    /// Creates a 415: the body must be JSON.
    pub fn unsupported_media_type() -> Self {
        Self::transport("The body must be JSON; send Content-Type: application/json")
            .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }

    /// Creates a 421: the request is for a host that the server does not answer to.
    pub fn misdirected() -> Self {
        Self::transport(
            "The server does not accept requests for this host name; add the name to the server's allowed hosts",
        )
        .with_status(StatusCode::MISDIRECTED_REQUEST)
    }

    /// Creates a 431: request line and headers are larger than `limit` bytes.
    pub fn headers_too_large(limit: usize) -> Self {
        let message =
            format!("The headers are larger than {limit} bytes; send a long query as the body of a POST");
        Self::transport(message).with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    }

    /// Creates a 400 `QUERY_ID_UNKNOWN`, after which clients may register the query again.
    pub fn query_id_unknown() -> Self {
        Self::transport("The query id is not registered; register the query, or send its text")
            .with_code(Code::QueryIdUnknown)
    }

    /// Creates a 500: a resolver failed. The cause belongs in the log only.
    pub fn resolver() -> Self {
        Self::new(
            ErrorKind::Resolver,
            "The data could not be read; the server's log has the cause under this request id",
        )
    }

    /// Creates a 500: a write failed. The cause belongs in the log only.
    pub fn mutator() -> Self {
        Self::new(
            ErrorKind::Resolver,
            "The data could not be written; the server's log has the cause under this request id",
        )
    }

    /// Creates a 500 `TIMEOUT`: a resolver or a mutator exceeded its deadline.
    pub fn timeout() -> Self {
        Self::new(ErrorKind::Resolver, "The request took too long and was stopped").with_code(Code::Timeout)
    }

    /// Creates a 500 `OUTCOME_UNKNOWN`: a write may or may not be in effect. The cause belongs in the log only.
    pub fn outcome_unknown() -> Self {
        let message = "The database did not confirm the write, so it may or may not be in effect; read the record before you \
                       send the write again";
        let error = Self::new(ErrorKind::Resolver, message).with_code(Code::OutcomeUnknown);
        Self { effect: Some(Effect::Unknown), ..error }
    }

    /// Creates a 500 `REPLY_FAILED`: a write is in effect, but its reply failed. The cause belongs in the log only.
    pub fn reply_failed() -> Self {
        let message =
            "The write is in effect, but its reply failed; read the record, and do not send the write again";
        let error = Self::new(ErrorKind::Resolver, message).with_code(Code::ReplyFailed);
        Self { effect: Some(Effect::Applied), ..error }
    }

    /// States that nothing was written, unless the error states another effect. Every error of a write route has an effect.
    /// `SPEC §23.1`
    #[must_use]
    pub fn of_write(mut self) -> Self {
        self.effect.get_or_insert(Effect::None);
        self
    }

    /// Creates a 500: the server failed. The cause belongs in the log only.
    pub fn internal() -> Self {
        Self::new(ErrorKind::Internal, "The server failed; its log has the cause under this request id")
    }

    /// Returns the body of the reply.
    pub fn body(&self, request_id: &RequestId) -> ErrorBody {
        ErrorBody {
            error: self.kind.as_str().to_owned(),
            message: self.message.clone().into_owned(),
            request_id: Some(request_id.as_str().to_owned()),
            code: self.code.map(|code| code.as_str().to_owned()),
            path: self.path.clone(),
            line: self.line,
            column: self.column,
            fields: self.fields.clone(),
            step: self.step,
            effect: self.effect.map(|effect| effect.as_str().to_owned()),
        }
    }
}

/// Syntax errors are validation errors with a position. `SPEC §3.4`
impl From<SyntaxError> for WireError {
    fn from(error: SyntaxError) -> Self {
        let SyntaxError { message, path, position, .. } = error;
        Self { path, line: Some(position.line), column: Some(position.column), ..Self::validation(message) }
    }
}

#[cfg(test)]
mod tests;
