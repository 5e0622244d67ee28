//! Black-box tests of the server program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

mod attack;
mod cli;
mod conformance;
mod deploy;
mod errors;
mod events;
mod faults;
mod guides;
mod integrity;
mod judge;
mod known_defects;
mod lifecycle;
mod mistakes;
mod paging;
mod persisted;
mod playground;
mod policies;
mod pooler;
mod postgres;
mod rates;
mod reads;
mod reload;
mod roles;
mod schemas;
mod shared_database;
mod signed;
mod soak;
mod storage;
mod table;
mod telling;
mod terminal;
mod tls;
mod transport;
mod typescript;
mod uploads;
mod watching;
mod writes;
