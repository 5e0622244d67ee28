//! The client side of commands that send requests to a server: connections and sessions.

pub(super) mod http;
pub(super) mod session;
