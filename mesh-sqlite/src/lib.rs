//! A SQLite file as the data source of a Mesh service.
//!
//! [`Database`] is a [`Resolver`](mesh_plan::Resolver) for every entity of a schema over one file; [`Database::writer`]
//! opens the same file for writing. [`State`] is a separate file for data that outlives a server: revoked sessions,
//! used nonces and registered queries.
//!
//! Light reads run on the calling thread, on a connection that belongs to it. Reads that take longer than a
//! millisecond or two run on another thread. Answers are cached until the database changes.
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod accounts;
mod backend;
mod catalog;
mod cells;
mod changes;
mod database;
mod error;
mod file;
mod functions;
mod pool;
mod read;
mod response_cache;
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

pub use database::Database;
pub use error::OpenError;
pub use pool::thread_connection::before_park;
pub use rusqlite;
pub use settings::Settings;
pub use state::{State, StateLimits};
pub use write::Writer;
