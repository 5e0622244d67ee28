//! How are the promises of a Mesh server put to the test from outside?
//!
//! A kit for tests that know a server only by its program, its socket and its texts: [`Server`] starts and ends
//! the program, [`Request`] says in bytes what a client sends, [`Response`] holds what came back, and
//! [`Database`] makes SQLite files to serve.
//!
//! Invariants: nothing here uses another crate of the workspace, so that a fault of theirs cannot hide itself by
//! being on both sides; no port is fixed, and no wait is a guess: each ends with the thing it waits for.
//!
//! ```no_run
//! use mesh_tests::{Database, Server};
//!
//! let blog = Database::blog();
//! let server = Server::of(&blog);
//! let reply = server.get("/post/1", r#"{"post": {"$select": {"title": true}}}"#);
//! assert_eq!(reply.text(), r#"{"title":"Rust at dawn"}"#);
//! ```

#![expect(clippy::expect_used, clippy::panic, reason = "a test kit fails its test by panicking")]

mod browser;
mod client;
mod fixture;
pub mod guide;
pub mod kit;
mod node;
mod pooler;
mod postgres;
mod server;

pub use browser::Browser;
pub use client::{Connection, Request, Response, encode};
pub use fixture::{Database, TempDir};
pub use node::node_tools;
pub use pooler::Pooler;
pub use postgres::Cluster;
pub use server::{Server, command, program, run};
