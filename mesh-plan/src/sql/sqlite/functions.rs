//! Names of the functions that a back end must register. They have a prefix, so that the views of a database keep
//! the built-in functions.

/// `(text, pattern)`: whether the text matches a [`crate::Pattern`], case-sensitively.
pub const LIKE: &str = "mesh_like";
/// `(text, pattern)`: whether the text matches a [`crate::Pattern`], ignoring letter case.
pub const ILIKE: &str = "mesh_ilike";
/// Aggregate `(value)`: the sum, which overflows only if the total does.
pub const SUM: &str = "mesh_sum";
