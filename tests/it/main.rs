//! Black-box tests of the server program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

mod cli;
mod conformance;
mod events;
mod generated;
mod guides;
mod mcp;
mod mysql;
mod operations;
mod playground;
mod postgres;
mod reads;
mod round_trip;
mod security;
mod support;
mod transport;
mod uploads;
mod writes;
