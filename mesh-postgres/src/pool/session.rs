//! The purposes and the settings of sessions.

/// The purpose of the connections of a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Transactions are read-only.
    Read,
    /// Transactions can write.
    Write,
}

/// Settings that change the meaning of texts and conditions. The account, the database or the server may have other values.
/// `lc_monetary` is not among them: amounts of money are stored in the smallest unit of the database's currency.
pub(super) const SESSION: [(&str, &str); 10] = [
    // Compiling expressions takes longer than most reads, and the limit on rows makes the planner overestimate its benefit.
    ("jit", "off"),
    ("datestyle", "ISO"),
    ("intervalstyle", "postgres"),
    ("timezone", "UTC"),
    ("extra_float_digits", "1"),
    ("bytea_output", "hex"),
    ("standard_conforming_strings", "on"),
    ("array_nulls", "on"),
    ("transform_null_equals", "off"),
    ("xmloption", "content"),
];
