//! The docs surface of a Mesh server: a page to explore a schema and try queries on, and the routes behind it.
//!
//! [`Docs`] takes and returns types of the `http` crate and runs queries through [`mesh_plan::Mesh`] in the same process; the
//! server around it does the networking. Reading order: `docs` (the routes), `options` and `access` (settings and access
//! control), `introspection` and `execute` (the data), `visible` (the allowlist of entities), `page` and `assets` (the files
//! for the browser). [`typescript`], [`python`], [`openapi`] and [`json_schema`] generate code and descriptions from a schema,
//! and [`outline`] is its compact form for agents.
//!
//! The sources of the page are in `ui/`. The files built from them are committed in `assets/`, so that building the
//! crate needs Rust only.
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
//! let docs = Docs::new(Mesh::builder(schema).build()?, Options::default().title("Blog").theme(Theme::Light));
//! assert!(docs.call(&Method::GET, "/mesh/post").is_none());
//! assert!(docs.call(&Method::GET, "/docs/schema").is_some_and(|call| call.is_ok()));
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//! - Introspection and execute answer only visitors that [`Access`] admits; the page contains no data.
//! - An entity that is not on the allowlist does not exist here: not in introspection, queries or error messages.
//! - The crate reads no clock and assigns no status codes to errors; the server does both.

#![deny(missing_docs)]

mod access;
mod assets;
mod docs;
mod error;
mod execute;
mod introspection;
mod json;
pub mod json_schema;
mod members;
mod names;
pub mod openapi;
mod options;
pub mod outline;
mod page;
pub mod python;
mod rights;
mod text;
pub mod typescript;
mod view_as;
mod visible;

pub use access::{Access, Predicate, Visitor};
pub use assets::Compressed;
pub use docs::{Call, Docs};
pub use error::Error;
pub use execute::explanation;
pub use options::{Offers, Options, Sql, Theme};
pub use view_as::ViewAs;

/// Returns the name of the values that a field of the type is compared with.
fn literal_kind(ty: Option<mesh_schema::FieldType>) -> &'static str {
    use mesh_schema::FieldType;
    match ty {
        None => "scalar",
        // Both take numbers and texts.
        Some(FieldType::Unsigned) => FieldType::Bigint.as_str(),
        Some(ty) => ty.as_str(),
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
