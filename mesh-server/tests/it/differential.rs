//! Differential tests: SQLite, PostgreSQL and MariaDB return the same bytes as in-memory tables.
//!
//! Schemas, data and queries are random, and cursors are followed to the end. Equal seeds generate equal databases and
//! queries.
//!
//! - `MESH_DIFF_SEED=7` runs only this seed and prints the results.
//! - `MESH_DIFF_SECONDS=60` compares further seeds for this time.

pub(crate) mod check;
mod data;
pub(crate) mod dice;
mod documents;
mod kind;
mod others;
mod params;
mod policies;
mod query;
mod script;
mod soak;
mod tally;

use std::time::Duration;

use check::{MANY_QUERIES, QUERIES};
use others::Others;
use tally::Tally;

/// The seeds of every run.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=300;

#[test]
fn databases_and_memory_agree() {
    let others = Others::start(10);
    if let Some(seed) = soak::number("MESH_DIFF_SEED") {
        let tally =
            check::seed(seed, MANY_QUERIES, true, &others).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        eprintln!("seed {seed}: {tally}");
        return;
    }
    let mut tally = Tally::default();
    for seed in SEEDS {
        tally += check::seed(seed, QUERIES, false, &others).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    // Empty databases and trivial queries would agree as well.
    for (name, most) in [("results", 6_000), ("later pages", 800), ("rows", 6_000), ("skips", 100)] {
        assert!(tally.count(name) > most, "{tally}");
    }
    if let Some(seconds) = soak::number("MESH_DIFF_SECONDS") {
        soak::run(Duration::from_secs(seconds), Tally::default(), |seed| {
            check::seed(seed, MANY_QUERIES, false, &others)
        });
    }
}
