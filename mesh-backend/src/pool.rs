//! What pools of connections share.

mod idle;
mod row_budget;

pub use idle::{IdleConnection, IdleConnections};
pub use row_budget::{BudgetExceeded, RowBudget};
