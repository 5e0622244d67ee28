//! Plans and shapes reads: a query's text in, nested JSON of exactly that shape out.
//!
//! [`Mesh`] is the whole of it: it parses a query, checks it against a schema, runs the resolver of the root
//! entity and nests what that returns. Each stage is a public function of its own and can print its result:
//!
//! 1. [`Mesh::plan`]: text → [`Plan`], the checked query with every name resolved;
//! 2. [`sql`] (feature `sql`): plan → SQL text with bound parameters;
//! 3. a [`Resolver`]: plan → [`Rows`], or rows pushed straight through [`Plan::shape`];
//! 4. [`Plan::nest`] and [`Plan::shape`]: rows → JSON.
//!
//! [`memory::Tables`] is a resolver over data in memory that answers every plan, for tests, prototypes and
//! small data that never changes. [`policy`] says what of a schema is there for whom, and [`Changes`] is where
//! writers tell of what they wrote to those who watch.
//!
//! # Features
//! - `sql`, on unless turned off: [`sql`], which lowers plans to SQL text with bound parameters.
//!
//! # Invariants
//! - A [`Plan`] is made by the planner only: what it names is in the schema.
//! - Nothing here does input or output, reads a clock or draws a random number; the only thing awaited is a
//!   resolver.
//! - What a policy hides has no name: the planner looks names up in a schema that lacks it.
//! - There is one nesting algorithm, [`Plan::shape`], and one place that decides how a scalar looks.

#![deny(missing_docs)]

mod change;
mod error;
mod generations;
mod mesh;
mod mutation;
mod persisted;
mod plan;
mod planner;
pub mod policy;
mod resolver;
mod rows;
mod shape;
#[cfg(feature = "sql")]
pub mod sql;
mod value;

pub use change::{Change, Changes, Listener};
pub use error::{Error, PlanError, PlanErrorKind, ResolveError, Rule, WriteError, WriteFault};
pub use futures_util::future::Either;
pub use generations::{Generations, LocalGenerations};
pub use mesh::{BuildError, BuildFault, Mesh, MeshBuilder, Request, WriteReply};
pub use mutation::{
    Action, Assignment, Fields, FieldsError, KeyColumns, LinkKey, Mutation, Mutator, RelatedRecord, Subject,
    WriteOutcome,
};
pub use persisted::{
    MemoryQueries, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError, RegisterError,
    Registration,
};
pub use plan::computed::{ComputedFunction, ComputedInputs};
pub use plan::cursor::CursorKey;
pub use plan::{
    Aggregate, Column, ColumnSource, CompareOp, Grouping, Join, Node, Output, Page, Plan, PlanId, Predicate,
    SortKey, Target, TemplatePiece,
};
pub use planner::write::{WriteRequest, WriteTarget};
pub use planner::{Limits, QuerySource};
pub use policy::Principal;
pub use resolver::memory;
pub use resolver::{
    Answer, BoxFuture, Context, MaybeReady, Resolver, Trace, TracedStatement, Usage, WaitCounter,
};
pub use rows::{Applied, Rows, Table};
pub use shape::{Cells, Flow, JsonBody, OutputKey, RowSource};
pub use value::like::Pattern;
pub use value::{Value, ValueRef};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
