//! What the signature of a request covers, and what the request needs beside it. `SPEC §7.4`

use http::{HeaderValue, Method};
use mesh_integrity::Message;
use mesh_wire::WireError;
use mesh_wire::request::decode_body;

use super::request_parts::RequestParts;

/// What is signed of a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signed<'b> {
    /// A read without a body: the query in the headers and its parameters.
    Read,
    /// An upload: the statement in the query header, which describes the body.
    Upload,
    /// A write without a body. Its signature is bound to one use, because an unbound one would equal that of a read with the same
    /// query. `SPEC §7.9`
    Write,
    /// The download of the stored file with this key. `SPEC §9.7`
    File(&'b str),
    /// The headers and a body.
    Body(Content, &'b [u8]),
}

/// The content of a signed body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// The fields of a write, whose signature is bound to one use.
    Fields,
    /// A query to run. A bound signature also covers its format.
    Query,
    /// A query to register.
    Registration,
    /// A message to tools, whose signature is bound to one use if they may write.
    Tools {
        /// Whether the tools may write.
        writes: bool,
    },
    /// The input of a route of the application, which may also be signed as the value of the query header.
    Application,
}

/// The access that a request needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Registration,
}

/// The formats of a signed query: the second is tried if the signature is invalid with the first.
pub(crate) type Formats<'a> = [&'a str; 2];

pub(crate) const FORMATS: Formats<'_> = ["json", "ql"];
pub(crate) const JSON: Formats<'_> = ["json"; 2];

impl Signed<'_> {
    /// Returns the message of the signature.
    pub(crate) fn message<'m>(&'m self, parts: &RequestParts<'m>) -> Message<'m> {
        let statement = parts.headers.statement();
        match *self {
            Self::Read | Self::Upload => match parts.headers.params.map(HeaderValue::as_bytes) {
                None => Message::new(statement),
                Some(params) => Message::with_params(statement, params),
            },
            Self::Write => Message::new(statement),
            Self::File(key) => Message::new(key.as_bytes()),
            Self::Body(Content::Application, body) if is_bodiless(parts.head.method, statement, body) => {
                Message::new(statement)
            }
            Self::Body(Content::Application, body) => Message::for_application(statement, body),
            Self::Body(_, body) => Message::with_body(statement, body),
        }
    }

    /// Returns the possible formats of a query in the body; `None` if the body has none.
    pub(crate) fn formats(&self, parts: &RequestParts<'_>) -> Option<Formats<'static>> {
        match self {
            Self::File(_) => Some(JSON),
            // A body that cannot be decoded is refused after the signature is verified.
            Self::Body(Content::Query | Content::Registration, body) => {
                let posted = decode_body(parts.head.headers, body);
                Some(posted.map_or(FORMATS, |posted| [posted.format.as_str(); 2]))
            }
            _ => None,
        }
    }

    /// Returns whether the signature has to be bound to one use, unless binding is off.
    pub(crate) fn is_single_use(&self) -> bool {
        matches!(self, Self::Write | Self::Body(Content::Fields | Content::Tools { writes: true }, _))
    }

    /// Returns the access that the request needs. Whether a message to tools writes is checked later.
    pub(crate) fn access(&self, method: &Method) -> Access {
        match self {
            Self::Read | Self::File(_) | Self::Body(Content::Query | Content::Tools { .. }, _) => {
                Access::Read
            }
            Self::Body(Content::Application, _) if matches!(*method, Method::GET | Method::HEAD) => {
                Access::Read
            }
            Self::Body(Content::Registration, _) => Access::Registration,
            Self::Upload | Self::Write | Self::Body(Content::Fields | Content::Application, _) => {
                Access::Write
            }
        }
    }

    /// Refuses parameters in the headers, unless the headers have the query of a read.
    pub(crate) fn check_params(&self, parts: &RequestParts<'_>) -> Result<(), WireError> {
        if matches!(self, Self::Read | Self::File(_)) { Ok(()) } else { parts.headers.reject_params() }
    }
}

/// Returns whether a request to a route of the application is signed as one without a body.
///
/// A body that was removed in transit must not be mistaken for an absent one. A DELETE therefore needs a statement that
/// is empty or that of an empty object, and requests by POST, PUT and PATCH are always signed with a body.
fn is_bodiless(method: &Method, statement: &[u8], body: &[u8]) -> bool {
    let is_empty_object = || Message::for_application(statement, b"{}").bytes() == statement;
    body.is_empty()
        && match *method {
            Method::GET | Method::HEAD => true,
            Method::DELETE => statement.is_empty() || is_empty_object(),
            _ => false,
        }
}
