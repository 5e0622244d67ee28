//! Lowering of plans and writes to SQL.
//!
//! Lowering is a pure function from a [`mesh_plan::Plan`] or a [`mesh_plan::Mutation`] to statements; back ends keep the result while
//! the plan is in use. Statements are built with sea-query. Values are parameters and never part of the text; identifiers come
//! from the schema and are quoted.
//!
//! The modules `mysql`, `postgres` and `sqlite` are each specific to a database; the other files are shared. Each database
//! implements the trait in `dialect.rs` and lowers plans to statements in its own way.

#![deny(missing_docs)]

mod alias;
mod class;
mod custom;
mod dialect;
mod group;
mod join_room;
mod keyset;
mod layout;
mod levels;
mod links;
pub mod mysql;
mod node_select;
mod operand;
mod order;
mod param;
mod pattern;
pub mod postgres;
mod predicate;
mod related;
mod render;
mod required;
mod search;
pub mod sqlite;
mod statement;
#[cfg(test)]
mod tests;
pub mod text;
mod write;

pub use dialect::{Dialect, ParamOf};
pub use layout::{Layout, ReadStatement};
pub use levels::LevelDialect;
pub use statement::Statement;
pub use write::{
    EmptyResult, MergePart, SetReference, WriteProbe, WriteStep, create_many, find, find_written, permitted,
    references, write_probes, write_steps,
};

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
