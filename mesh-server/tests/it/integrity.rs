//! Requests to an application with sessions, without sockets.

mod binding;
mod codes;
mod persisted;
pub(crate) mod routes;
pub(crate) mod site;
