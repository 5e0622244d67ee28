//! Requests to an application with sessions, without sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

#[cfg(test)]
#[path = "integrity/binding.rs"]
mod binding;
#[cfg(test)]
#[path = "integrity/codes.rs"]
mod codes;
#[cfg(test)]
#[path = "integrity/persisted.rs"]
mod persisted;
#[cfg(test)]
#[path = "integrity/routes.rs"]
mod routes;
#[cfg(test)]
#[path = "integrity/site.rs"]
mod site;
