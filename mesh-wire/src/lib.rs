//! The wire format of Mesh: routes, headers, statuses and error bodies, for servers and clients.
#![doc = ""]
#![doc = include_str!("../README.md")]
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

pub use error::{Challenge, Code, Effect, ErrorBody, ErrorKind, FieldError, WireError};
pub use request::{Authorization, MeshHeaders, PostBody, QuerySource, RawQuery, RequestId};
pub use response::cors::{self, Cors, OriginError};
pub use response::encoding::{self, Encoding};
pub use response::{ETag, RequestHead};
pub use route::{AllowedMethods, BasePath, BasePathError, Profiles, Route};
