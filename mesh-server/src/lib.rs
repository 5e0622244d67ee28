//! A server for field-selection reads over HTTP, and the parts to embed it in an application.
//!
//! [`App`] turns any `http` request into a reply. [`Server`] serves it on a listener, with timeouts, limits, TLS and a
//! graceful shutdown. [`App::into_service`] makes it a hyper or tower service for an existing server. The crates
//! `mesh-sqlite`, `mesh-postgres` and `mesh-mysql` resolve queries from the tables of a database; any function can be a
//! resolver too.
//!
//! ```
//! use mesh_plan::{Context, Mesh, Plan, ResolveError, Rows};
//! use mesh_schema::{FieldType, Schema};
//! use mesh_server::{App, Server};
//!
//! async fn posts(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
//!     let mut rows = Rows::new(&plan);
//!     rows.root().push_with(|column| if column == "id" { 1.into() } else { "Hello".into() });
//!     Ok(rows)
//! }
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::builder()
//!     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
//!     .build()?;
//! let app = App::builder(Mesh::builder(schema).resolver("post", posts).build()?).build()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
//! Server::new(app).serve(listener, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Overview
//! - Building: [`App::builder`] with [`TransportLimits`], [`Rates`], [`ClientLimits`], [`Integrity`] (sessions and signatures),
//!   [`Bearer`] (tokens of an issuer), [`Events`] (event streams), [`Uploads`], [`Admin`] ([`Health`] checks and
//!   [`Metrics`]) and routes of the application ([`App::answer`], [`Call`], [`Reply`]).
//! - Serving: [`Server`] with [`Timeouts`] and [`Workers`], or [`MeshService`]. [`Current`] replaces the application while
//!   it is served.
//!
//! # Features
//! Features are additive. All but `s3` are on by default; a program that needs few of them turns them off with
//! `default-features = false`.
//!
//! - `tls`: HTTPS.
//! - `accounts`: logins with argon2id hashes.
//! - `compression`: gzip, br and zstd.
//! - `s3`: file storage in a bucket with the S3 protocol.
//! - `jwks`: keys for bearer tokens from a URL or a file (`Jwks`).
//! - `mcp`: tools for agents with the Model Context Protocol (`Mcp`).
//! - `otlp`: export of requests as OpenTelemetry spans.
//! - `purge`: notification of shared caches about changes (`Purge`).

#![deny(missing_docs)]

/// Implements `Debug` for types with secrets, functions or caches: it shows only their names.
macro_rules! opaque_debug {
    ($name:ident) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

mod app;
mod clients;
mod connection;
mod events;
#[cfg(any(feature = "jwks", feature = "otlp", feature = "purge"))]
mod https_client;
mod identity;
mod integrity;
#[cfg(feature = "mcp")]
mod mcp;
mod observability;
mod pipeline;
#[cfg(feature = "purge")]
mod purge;
mod rates;
pub mod regular_file;
mod routes;
mod uploads;

pub use app::App;
pub use app::build_error::BuildError;
pub use app::builder::AppBuilder;
pub use app::caching::Caching;
pub use app::current::Current;
pub use app::exports::Exports;
pub use app::fallback::Fallback;
pub use app::limits::TransportLimits;
pub use app::options::AppOptions;
pub use app::reply_future::ReplyFuture;
pub use app::service::MeshService;
pub use clients::ClientLimits;
pub use connection::{Server, Timeouts, Workers};
#[cfg(feature = "tls")]
pub use connection::{Tls, TlsError};
pub use events::Events;
#[cfg(any(feature = "jwks", feature = "otlp", feature = "purge"))]
pub use https_client::{HttpUrl, HttpUrlError};
pub use identity::api_keys::ApiKeys;
pub use identity::authenticator::{Identified, RequestAuthenticator};
pub use identity::bearer::Bearer;
pub use identity::caller::Caller;
#[cfg(feature = "jwks")]
pub use identity::jwks::{Jwks, JwksError};
pub use identity::request_parts::{RequestParts, request_id};
pub use identity::signed::{Content, Signed};
pub use integrity::Integrity;
#[cfg(feature = "mcp")]
pub use mcp::{Mcp, QueryTool};
pub use mesh_docs;
pub use mesh_integrity;
pub use mesh_plan;
pub use mesh_ql;
pub use mesh_schema;
pub use mesh_uploads;
pub use mesh_wire;
pub use observability::admin::Admin;
pub use observability::audit::{AuditEntry, AuditFile, AuditLog, AuditSink};
pub use observability::health::{Check, Health, Report};
pub use observability::metrics::{Exposition, Metrics};
#[cfg(feature = "otlp")]
pub use observability::otlp;
pub use pipeline::body::{Body, BoxError, Pace};
pub use pipeline::query::{Queries, RequestQuery, Target};
#[cfg(feature = "purge")]
pub use purge::Purge;
pub use rates::Rates;
pub use rates::client_address::{ClientAddress, Proxies, ProxyError};
pub use rates::rate::{Rate, RateError};
pub use routes::custom::{Call, Reply};
pub use uploads::{Upload, UploadHandler, Uploads};

/// The guides with Rust code, so that doc tests compile it.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../docs/events.md")]
    struct Events;

    #[doc = include_str!("../../docs/policies.md")]
    struct Policies;

    #[doc = include_str!("../../docs/resolvers.md")]
    struct Resolvers;

    #[doc = include_str!("../../docs/uploads.md")]
    struct Uploads;

    #[doc = include_str!("../../docs/writes.md")]
    struct Writes;

    #[doc = include_str!("../../mesh-plan/README.md")]
    struct Plan;

    #[doc = include_str!("../../mesh-server/README.md")]
    struct Server;
}
