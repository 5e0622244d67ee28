//! What several modules of tests use.

pub(crate) mod refusals;
pub(crate) mod sessions;
