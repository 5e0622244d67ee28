//! Tests of the server as a library. All tests are in one program, which is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

mod allocations;
mod bearer;
mod build_errors;
mod client;
mod closures;
mod connections;
mod differential;
mod examples;
mod fuzz;
mod hostile_values;
mod integrity;
mod policies;
mod resolvers;
mod searches;
mod service;
mod spec;
mod uploads;
mod writes;
