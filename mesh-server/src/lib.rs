//! Serves reads over HTTP: a finished server, and the parts to put one together.
//!
//! [`App`] turns any `http` request into a reply; it can be called from within a server of one's own, to which
//! [`App::into_service`] makes it a service of hyper or tower. [`Server`] is a listener around it, with timeouts, limits and a graceful stop. The crates
//! `mesh-sqlite` and `mesh-postgres` serve the tables of a database. The `mesh-server` command is made of these.
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
//! Server::new(app).serve(listener, std::future::pending()).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! Each brings something and changes nothing of what is there without it. `cli` and `tower` are on unless turned off.
//!
//! - `cli`: the `mesh-server` command, and all of the following but `s3`, `otlp` and `tower`;
//! - `tls`: connections under a certificate;
//! - `accounts`: logins with argon2id hashes, in [`accounts`];
//! - `compression`: replies packed as gzip, br or zstd;
//! - `s3`: stored files in a bucket that speaks the S3 protocol;
//! - `otlp`: spans of requests for a collector of OpenTelemetry;
//! - `tower`: [`MeshService`] as a service of tower, for routers such as that of axum.
//!
//! # Invariants
//! - [`App::handle`] always answers: every failure, a panic included, becomes an error reply in one place.
//! - Errors become replies only here and in `mesh-wire`; nothing below knows a status.
//! - No database driver: those are in the back-end crates, which have nothing of HTTP.

#![deny(missing_docs)]

#[cfg(feature = "accounts")]
pub mod accounts;
mod app;
mod body;
mod connection;
mod events;
#[cfg(doctest)]
mod guides;
mod observability;
mod pipeline;
mod rates;
mod routes;
mod uploads;

pub use app::App;
pub use app::builder::{AppBuilder, BuildError};
pub use app::current::Current;
pub use app::integrity::Integrity;
pub use app::limits::Limits;
pub use app::service::{Answering, MeshService};
pub use body::{Body, BodyError, BoxError};
pub use connection::{Server, Timeouts, Workers, WorkersBuilder};
#[cfg(feature = "tls")]
pub use connection::{Tls, TlsError};
pub use events::Events;
pub use mesh_docs;
pub use mesh_integrity;
pub use mesh_plan;
pub use mesh_ql;
pub use mesh_schema;
pub use mesh_uploads;
pub use mesh_wire;
pub use observability::admin::Admin;
pub use observability::health::{Check, Health, Report};
pub use observability::metrics::{Exposition, Metrics};
#[cfg(feature = "otlp")]
pub use observability::otlp;
pub use rates::client_address::{ClientAddress, Proxies, ProxyError};
pub use rates::{Rate, RateError, Rates};
pub use routes::custom::{Call, Handler, PatternError, Reply};
pub use uploads::{Upload, UploadHandler, Uploads};
