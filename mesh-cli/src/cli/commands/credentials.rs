//! The commands that create the credentials of callers.

pub(crate) mod api_key;
pub(crate) mod hash_password;
