//! A PostgreSQL database as the data source of a Mesh service.
//!
//! [`Database`] is a [`Resolver`](mesh_plan::Resolver) for every entity of a schema, with one statement per read;
//! [`Database::writer`] takes writes. Reads go to replicas if there are any. As a [`Backend`] it has what a server needs beside
//! them: accounts, API keys, an audit table, changes, and data that outlives a server: revoked sessions, used nonces, login
//! attempts and registered queries.
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod accounts;
mod backend;
mod catalog;
mod cells;
mod changes;
mod database;
mod other_servers;
mod pool;
mod read;
mod replicas;
mod settings;
mod sql;
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
