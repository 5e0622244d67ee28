//! A MariaDB database as the data source of a Mesh service.
//!
//! [`Database`] is a [`Resolver`](mesh_plan::Resolver) for every entity of a schema, with one statement per read;
//! [`Database::writer`] takes writes. As a [`Backend`] it has what a server needs beside them: accounts, API keys, an audit
//! table, changes, and data that outlives a server: revoked sessions, used nonces, login attempts and registered queries.
//!
//! The driver is [`mysql_async`]: it is maintained, implements the protocol in Rust, keeps prepared statements per
//! connection, and supports TLS with rustls and ring, so that no second TLS library is linked. Its pool is not used:
//! a connection whose statement was given up has to be ended by `KILL QUERY`, and keeps its slot until then.

#![deny(missing_docs)]

mod accounts;
mod backend;
mod catalog;
mod cells;
mod changes;
mod database;
mod pool;
mod read;
mod settings;
mod state;
mod tables;
#[cfg(test)]
mod tests;
mod write;

pub use mesh_backend::Contents;
pub use mesh_backend::accounts::Accounts;
pub use mesh_backend::api_keys::ApiKeys;
pub use mesh_backend::audit::AuditTable;
pub use mesh_backend::backend::Backend;
use mesh_backend::error;
pub use mesh_backend::error::OpenError;

pub use database::Database;
pub use settings::Settings;
pub use write::Writer;

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
