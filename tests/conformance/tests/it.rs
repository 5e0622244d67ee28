//! The program and the library against small servers, without the server of this repository.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

#[path = "it/commands.rs"]
mod commands;
#[path = "it/options.rs"]
mod options;
#[path = "it/program.rs"]
mod program;
#[path = "it/reports.rs"]
mod reports;
#[path = "it/server.rs"]
mod server;
