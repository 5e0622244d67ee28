//! Requests to an application with sessions, without sockets.

mod binding;
mod codes;
mod persisted;
mod routes;
pub(crate) mod site;
