//! Plans and shapes reads: a query's text in, nested JSON of exactly that shape out.
//!
//! [`Mesh`] is the whole of it: it parses a query, checks it against a schema, runs the resolver of the root
//! entity and nests what that returns. Each stage is a public function of its own and can print its result:
//!
//! 1. [`Mesh::plan`]: text → [`Plan`], the checked query with every name resolved;
//! 2. [`sql::Statements`] (feature `sql`): plan → SQL text with bound parameters;
//! 3. a [`Resolver`]: plan → [`Rows`], or rows pushed straight through [`Plan::shape`];
//! 4. [`Plan::nest`] and [`Plan::shape`]: rows → JSON.
//!
//! [`memory::Tables`] is a resolver over data in memory that answers every plan, for tests, prototypes and
//! small data that never changes.
//!
//! # Invariants
//! - A [`Plan`] is made by the planner only: what it names is in the schema.
//! - Nothing here does input or output, reads a clock or draws a random number; the only thing awaited is a
//!   resolver.
//! - There is one nesting algorithm, [`Plan::shape`], and one place that decides how a scalar looks.

mod cache;
mod cursor;
mod error;
mod joined;
mod like;
mod limits;
pub mod memory;
mod mesh;
mod nest;
mod plan;
mod planner;
mod resolver;
mod rows;
mod shape;
#[cfg(feature = "sql")]
pub mod sql;
mod time;
mod value;

pub use cursor::CursorKey;
pub use error::{Error, PlanError, PlanErrorKind, ResolveError};
pub use like::Pattern;
pub use limits::Limits;
pub use mesh::{Mesh, MeshBuilder, Request};
pub use plan::{
    Aggregate, Column, CompareOp, Grouping, Join, Node, Output, Plan, Predicate, Slice, SortKey, Source,
    Target, TemplatePiece,
};
pub use resolver::{Answer, BoxFuture, Context, Resolver};
pub use rows::{Rows, Table};
pub use shape::{Cells, Flow, JsonBody, RowSource};
pub use value::{Value, ValueRef};
