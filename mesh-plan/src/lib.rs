//! Planning and shaping of reads: from the text of a query to JSON of the shape that it selects.
//!
//! [`Mesh`] combines the stages of a read. Each stage is also a public function with a result that can be printed:
//!
//! 1. [`Mesh::plan`]: from text to a [`Plan`], the checked query with every name resolved;
//! 2. a [`Resolver`]: from a plan to [`Rows`], or to rows that are passed directly to [`Plan::shape`];
//! 3. [`Plan::nest`] and [`Plan::shape`]: from rows to JSON.
//!
//! A query can be text or built in code. This query selects users by a condition on a relation, orders them by the number of
//! related records, and reads the relation under two aliases:
//!
//! ```
//! use mesh_plan::{Context, Mesh, Request, memory::Tables};
//! use mesh_ql::build::{count, desc, field, query, related};
//! use mesh_schema::{FieldType, JoinDocument, Schema};
//! # use futures_util::FutureExt as _;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::builder()
//!     .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
//!     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
//!     .relation("user.posts", JoinDocument::many("post", "posts.user_id = users.id"))
//!     .build()?;
//! let posts = [vec![1.into(), 1.into(), "Dawn".into()], vec![2.into(), 2.into(), "Noon".into()], vec![3.into(), 2.into(), "Dusk".into()]];
//! let tables = Tables::new()
//!     .with("users", ["id", "name"], [vec![1.into(), "Ada".into()], vec![2.into(), "Ben".into()]])
//!     .with("posts", ["id", "user_id", "title"], posts);
//! let mesh = Mesh::builder(schema).default_resolver(tables).build()?;
//!
//! let writers = query("user")
//!     .field_as("writer", "name")
//!     .relation_as("latest", "posts", |posts| posts.field("title").order_by(desc("id")).first(1))
//!     .relation_as("written", "posts", |posts| posts.aggregate("n", count()))
//!     .filter(related("posts").some(field("title").like("D%")))
//!     .order_by(desc(related("posts").aggregate(count())))
//!     .build();
//! let plan = mesh.plan(&Request::new(&writers))?;
//! let body = mesh.read(&plan, &Context::default()).now_or_never().ok_or("the read is pending")??;
//! let ben = r#"{"writer":"Ben","latest":[{"title":"Dusk"}],"written":{"n":2}}"#;
//! let ada = r#"{"writer":"Ada","latest":[{"title":"Dawn"}],"written":{"n":1}}"#;
//! assert!(body.bytes.starts_with(format!(r#"{{"items":[{ben},{ada}],"#).as_bytes()));
//! # Ok(())
//! # }
//! ```
//!
//! [`memory::Tables`] is a resolver over data in memory that answers every plan, for tests, prototypes and small data that
//! does not change. [`policy`] restricts what principals can read and write. Writers publish their changes in
//! [`Changes`]. The crate `mesh-sql` lowers plans to SQL. The parts of a plan are in [`plan`], those of a write in [`mutation`],
//! and registered queries in [`persisted`].
//!
//! # Invariants
//! - Only the planner creates a [`Plan`]. Every name in a plan is in the schema.
//! - The crate performs no input or output, reads no clock and uses no random numbers. It awaits only resolvers, mutators
//!   and stores.
//! - The planner looks names up in a schema without the names that policies hide.
//! - There is one nesting algorithm, [`Plan::shape`], and one function that formats scalars.

#![deny(missing_docs)]

pub mod backend;
mod cache;
pub mod change;
pub mod error;
mod mesh;
pub mod mutation;
mod outcome;
pub mod persisted;
pub mod plan;
mod planner;
pub mod policy;
mod repeats;
mod resolver;
mod rows;
mod script;
mod shape;
mod value;

pub use change::{Change, Changes};
pub use error::{Error, PlanError, ResolveError, WriteError};
pub use mesh::{Mesh, MeshBuilder, Request};
pub use mutation::{Fields, Mutation, Mutator, Written};
pub use plan::{Node, Plan};
pub use planner::Limits;
pub use planner::write::{WriteRequest, WriteTarget};
pub use policy::Principal;
pub use resolver::memory;
pub use resolver::{Answer, BoxFuture, Context, Resolver};
pub use rows::{Applied, Rows, Table};
pub use shape::JsonBody;
pub use value::key::{Key, RecordId};
pub use value::{Value, ValueRef};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
