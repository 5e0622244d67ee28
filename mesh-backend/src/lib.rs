//! What the SQL back ends of Mesh share and what is not a driver.
//!
//! [`transaction::run`] runs the steps of a transaction and decides what became of it; a back end implements
//! [`transaction::Transaction`] and [`transaction::Errors`] for its driver. [`rows`], [`export`] and [`sort_limit`] are for reads,
//! whose cells a back end decodes by [`rows::Decoder`]. [`accounts`], [`api_keys`], [`audit`] and [`state`] keep tables through
//! [`tables::Tables`]. [`pool`] bounds the connections to a server, [`changes`] polls for changes, [`catalog`] has parts of reading
//! catalogs, and [`probe`] finds writes that a database refuses. Programs use a database of any engine as a [`backend::Backend`].

#![deny(missing_docs)]

pub mod accounts;
pub mod api_keys;
pub mod audit;
pub mod backend;
pub mod catalog;
pub mod changes;
pub mod error;
pub mod export;
pub mod own_table;
pub mod pool;
pub mod probe;
pub mod rows;
pub mod sort_limit;
pub mod state;
pub mod statement_cache;
pub mod tables;
pub mod transaction;

use mesh_schema::Catalog;

/// The contents of a database.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The tables and views.
    pub catalog: Catalog,
    /// Notes for the log: what was left out, and why.
    pub notes: Vec<String>,
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
