//! Plans and shapes reads: query text in, nested JSON of exactly that shape out.
//!
//! [`Mesh`] combines the stages of a read. Each stage is also a public function with a result that can be printed:
//!
//! 1. [`Mesh::plan`]: text → [`Plan`], the checked query with every name resolved;
//! 2. [`sql`] (feature `sql`): plan → SQL text with bound parameters;
//! 3. a [`Resolver`]: plan → [`Rows`], or rows that are passed directly to [`Plan::shape`];
//! 4. [`Plan::nest`] and [`Plan::shape`]: rows → JSON.
//!
//! [`memory::Tables`] is a resolver over data in memory that answers every plan, for tests, prototypes and small data that
//! does not change. [`policy`] restricts what principals can read and write. Writers publish their changes in
//! [`Changes`].
//!
//! # Features
//! - `sql`, on by default: [`sql`], which lowers plans to SQL text with bound parameters.
//!
//! # Invariants
//! - Only the planner creates a [`Plan`]. Every name in a plan is in the schema.
//! - The crate performs no input or output, reads no clock and uses no random numbers. It awaits only resolvers, mutators
//!   and stores.
//! - The planner looks names up in a schema without the names that policies hide.
//! - There is one nesting algorithm, [`Plan::shape`], and one function that formats scalars.

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
    Action, Assignment, Fields, FieldsError, KeyColumns, LinkKey, Mutation, Mutator, Reference,
    ReferenceColumn, ReferenceTarget, RelatedRecord, Subject, WriteOutcome,
};
pub use persisted::{
    ParamDeclarations, Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError, RegisterError,
    Registration,
};
pub use plan::{
    Aggregate, Column, ColumnSource, Comparand, CompareOp, ComputedFunction, ComputedInputs, Grouping, Join,
    JoinForm, Node, Output, Page, PageSize, Plan, PlanId, PlanKey, Predicate, Related, SortKey, Target,
    TemplatePiece,
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
pub use value::json::{JsonPointer, JsonType};
pub use value::key::{JsonId, Key, RecordId};
pub use value::like::{Pattern, PatternTooLong};
pub use value::{Value, ValueRef};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
