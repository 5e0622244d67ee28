//! Bounded pools of connections to a server.

mod connection;
mod error;
mod idle;
mod lease;
mod row_budget;
mod slots;

pub use connection::{Connection, ErrorKind};
pub use error::PoolError;
pub use lease::Lease;
pub use row_budget::{BudgetExceeded, RowBudget};
pub use slots::{Servers, Slots};

/// The purpose of the connections of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Transactions are read-only.
    Read,
    /// Transactions can write.
    Write,
}
