//! The commands that make what callers identify themselves with.

pub(crate) mod api_key;
pub(crate) mod hash_password;
