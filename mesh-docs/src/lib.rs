//! The docs surface of a Mesh server: a page to explore a schema and try queries on, and the routes behind it.
//!
//! [`Docs`] answers requests as values of the `http` crate and runs queries through [`mesh_plan::Mesh`] in the
//! same process; a server only has to hand it requests and send its replies. Reading order: `docs` (the
//! routes), `options` and `access` (what can be set, who is let in), `introspection` and `execute` (the data),
//! `visible` (the allowlist of entities), `page` and `assets` (what the browser loads); [`typescript`], [`openapi`]
//! and [`json_schema`] write down what programs, tools and editors are to know of a schema.
//!
//! The page's sources are under `ui/`. What is built from them lies under `assets/`, so that Rust alone builds
//! the program.
//!
//! ```
//! use http::Method;
//! use mesh_docs::{Docs, Options, Theme};
//! use mesh_plan::Mesh;
//! use mesh_schema::{FieldType, Schema};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::builder()
//!     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
//!     .build()?;
//! let docs = Docs::new(Mesh::builder(schema).build(), Options::default().title("Blog").theme(Theme::Light));
//! assert!(docs.call(&Method::GET, "/mesh/post").is_none());
//! assert!(docs.call(&Method::GET, "/docs/schema").is_some_and(|call| call.is_ok()));
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//! - Introspection and execute answer only visitors that [`Access`] lets in; the page holds no data.
//! - An entity that is not on the allowlist does not exist here: not in the introspection, not in queries, not
//!   in the words of an error.
//! - Nothing here reads a clock, and nothing knows a status of an error: both are the server's.

#![deny(missing_docs)]

mod access;
mod assets;
mod docs;
mod error;
mod execute;
mod introspection;
pub mod json_schema;
mod names;
pub mod openapi;
mod options;
mod page;
pub mod typescript;
mod visible;

pub use access::{Access, Predicate, Visitor};
pub use docs::{Call, Docs};
pub use error::Error;
pub use options::{Offers, Options, Sql, Theme};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
