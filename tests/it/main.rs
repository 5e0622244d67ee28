//! Does the server keep, seen from outside, what the specification promises?

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

mod cli;
mod errors;
mod lifecycle;
mod paging;
mod reads;
mod table;
mod transport;
