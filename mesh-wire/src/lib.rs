//! The wire format of Mesh: routes, headers, statuses and error bodies, for servers and clients.
//!
//! A server decodes the head of a request into a [`Route`] and a [`ReadRequest`], and encodes a result or a [`WireError`]
//! as a reply. A client (module `client`) builds requests and decodes replies. In reading order: [`headers`],
//! [`base64`], [`route`], [`request`], [`response`], [`error`], [`sse`], `client`.
//!
//! # Features
//!
//! - `client`: the module `client`.
//! - `plan`, `integrity`, `uploads`: conversions of the errors of mesh-plan, mesh-integrity and mesh-uploads into
//!   [`WireError`].
//!
//! # Invariants
//!
//! All functions are pure functions over the types of the `http` crate, without I/O, clocks, randomness or state. Header
//! names, statuses and error codes are defined in this crate only. Nothing depends on a schema or parses queries. No
//! input causes a panic.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{HeaderMap, Method};
//! use mesh_wire::{RequestHead, BasePath, Profiles, ReadRequest, RequestId, Route, QuerySource, ReadTarget, response};
//!
//! let base = BasePath::parse("/mesh").unwrap();
//! let mut headers = HeaderMap::new();
//! headers.insert("X-Mesh-Query", mesh_wire::base64::encode("{ user { id } }").parse().unwrap());
//! headers.insert("X-Mesh-Format", "ql".parse().unwrap());
//!
//! let route = Route::parse(&base, &Profiles::default(), &Method::GET, "/mesh/user/7").unwrap();
//! let Route::Point { entity, id } = route else { panic!("a point read") };
//! let read = ReadRequest::from_head(ReadTarget::Point { entity, id }, &headers).unwrap();
//! assert!(matches!(read.source, QuerySource::Text { ref text, .. } if text == "{ user { id } }"));
//!
//! let request_id = RequestId::from_headers(&headers, [0; 16]);
//! let head = RequestHead { method: &Method::GET, headers: &headers, request_id: &request_id };
//! let reply = response::read(&head, Bytes::from_static(b"{\"id\":7}"));
//! assert_eq!(reply.status(), 200);
//! assert!(reply.headers().contains_key("ETag"));
//! ```

#![deny(missing_docs)]

pub mod base64;
#[cfg(feature = "client")]
pub mod client;
pub mod error;
pub mod headers;
pub mod request;
pub mod response;
pub mod route;
pub mod sse;

pub use error::{Code, ErrorBody, ErrorKind, WireError};
pub use request::{MeshHeaders, PostBody, QuerySource, RawQuery, ReadRequest, ReadTarget, RequestId};
pub use response::cors::{self, Cors, OriginError};
pub use response::encoding::{self, Encoding};
pub use response::{ETag, RequestHead};
pub use route::{AllowedMethods, BasePath, BasePathError, Profiles, Route};

/// Runs the examples of the README.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;
