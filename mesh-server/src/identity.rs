//! Who sends a request: credentials, signatures and callers. `SPEC §7`, `SPEC §17`

pub(crate) mod api_keys;
pub(crate) mod authenticator;
pub(crate) mod bearer;
pub(crate) mod caller;
#[cfg(feature = "jwks")]
pub(crate) mod jwks;
mod refresh;
pub(crate) mod request_parts;
pub(crate) mod signed;
