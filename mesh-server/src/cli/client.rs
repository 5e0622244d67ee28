//! The sending side of commands that talk to a server: connections and sessions.

pub(super) mod http;
pub(super) mod session;
