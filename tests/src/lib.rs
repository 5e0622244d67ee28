//! A toolkit for black-box tests of the `mesh-server` program.
//!
//! [`Server`] starts and stops the program, [`Request`] builds the bytes that a client sends, [`Response`] holds the
//! reply, and [`Database`] creates SQLite files to serve.
//!
//! Invariants: this crate depends on no crate of the workspace except the conformance kit, so a bug cannot cancel itself out by
//! being on both sides. No port is fixed, and every wait ends with the condition that it waits for.
//!
//! ```no_run
//! use mesh_tests::{Database, Server};
//!
//! let blog = Database::blog();
//! let server = Server::with_database(&blog);
//! let reply = server.get("/post/1", r#"{"post": {"$select": {"title": true}}}"#);
//! assert_eq!(reply.text(), r#"{"title":"Rust at dawn"}"#);
//! ```

#![expect(clippy::expect_used, clippy::panic, reason = "a test kit fails its test by panicking")]

mod browser;
mod faulty_proxy;
mod fixture;
mod galera;
pub mod guide;
mod issuer;
pub mod kit;
mod mariadb;
mod moto;
#[cfg(unix)]
mod network;
mod nginx;
mod node;
mod parts;
mod pooler;
mod port;
mod postgres;
mod provider;
mod python;
mod server;
mod wait;

pub use browser::Browser;
pub use faulty_proxy::{Fault, FaultyProxy, Strike};
pub use fixture::{Database, TempDir};
pub use galera::Galera;
pub use issuer::{Answer, Issuer, SigningKey};
pub use mariadb::MariaDb;
pub use mesh_conformance::http::{Connection, Request, Response, encode};
pub use moto::Moto;
#[cfg(unix)]
pub use network::{connect_from, raise_file_limit};
pub use nginx::NginxCache;
pub use node::node_tools;
pub use parts::{LEAVE_OUT, Part};
pub use pooler::Pooler;
pub use postgres::{Cluster, Session};
pub use provider::Provider;
pub use python::PythonTools;
pub use server::{Server, command, program, run, without_settings};
pub use wait::{PATIENCE, eventually, services_are_required, skip, wait_for, wait_until};
