//! Helpers that several test modules share.

pub(crate) mod dice;
pub(crate) mod refusals;
pub(crate) mod sessions;
