//! The rows that a statement may return.

use mesh_plan::{Plan, ResolveError};

/// The maximum length of rows in relation to the length of the response. A number takes up to twice the bytes of its
/// text.
const BYTES_PER_RESPONSE_BYTE: usize = 2;

/// The remaining rows and bytes that a statement may return.
#[derive(Clone, Copy, Debug)]
pub struct RowBudget {
    rows: usize,
    bytes: usize,
    limits: (usize, usize),
}

/// The error for more rows or bytes than the budget allows.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("more rows than the response may show")]
pub enum BudgetExceeded {
    /// Too many rows, with the limit of objects in a response.
    Rows(usize),
    /// Too many bytes, with the limit of bytes of a response.
    Bytes(usize),
}

impl From<BudgetExceeded> for ResolveError {
    fn from(exceeded: BudgetExceeded) -> Self {
        match exceeded {
            BudgetExceeded::Rows(rows) => Self::TooLarge { rows },
            BudgetExceeded::Bytes(bytes) => Self::TooManyBytes { bytes },
        }
    }
}

impl RowBudget {
    /// No bound.
    pub const UNLIMITED: Self =
        Self { rows: usize::MAX, bytes: usize::MAX, limits: (usize::MAX, usize::MAX) };

    /// Returns a budget that suffices for every response that the limits of the plan allow. Each row is an object, except
    /// the one that shows that another page follows.
    pub fn of_plan(plan: &Plan) -> Self {
        let (rows, bytes) = (plan.rows_max(), plan.bytes_max());
        Self {
            rows: rows.saturating_add(1),
            bytes: bytes.saturating_mul(BYTES_PER_RESPONSE_BYTE),
            limits: (rows, bytes),
        }
    }

    /// Returns the budget with at most this many bytes.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.min(bytes), ..self }
    }

    /// Takes a row, of which a response can show this many bytes, from the budget.
    ///
    /// # Errors
    /// The budget does not suffice.
    pub fn spend(&mut self, size: usize) -> Result<(), BudgetExceeded> {
        let (rows, bytes) = self.limits;
        self.rows = self.rows.checked_sub(1).ok_or(BudgetExceeded::Rows(rows))?;
        self.bytes = self.bytes.checked_sub(size).ok_or(BudgetExceeded::Bytes(bytes))?;
        Ok(())
    }
}
