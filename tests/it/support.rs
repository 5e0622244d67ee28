//! What several modules of tests use.

pub(crate) mod keyed;
pub(crate) mod refusals;
pub(crate) mod sessions;
