//! The character set of texts, and the collation in which they are compared.

/// The collation under which only identical texts are equal.
pub const BINARY_COLLATION: &str = "utf8mb4_nopad_bin";

/// The character set of all texts of a connection.
pub(super) const CHARSET: &str = "utf8mb4";
