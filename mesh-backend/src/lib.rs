//! What the SQL back ends of Mesh share and what is not a driver.
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod accounts;
pub mod api_keys;
pub mod pool;
pub mod probe;
pub mod tables;
pub mod transaction;
