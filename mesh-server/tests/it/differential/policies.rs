//! Policies compared with a model: a server with a policy answers like a server without policies over the data that the
//! policy leaves visible.
//!
//! Schemas, data, policies, sessions and queries are random. The model ([`model`]) removes hidden records and fields
//! from the data with simple code, and the rest is read without policies. All answers have to be equal: rows,
//! aggregates, totals, orders, the values in cursors, and errors, in memory, on SQLite, PostgreSQL and MariaDB. The
//! environment variables of the differential tests apply.

mod check;
mod model;
mod roles;
mod rules;
mod writes;

use std::time::Duration;

use super::others::Others;
use super::soak;
use super::tally::Tally;

/// The seeds of every run.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=14;

/// Attack with a session of few rights: hidden fields and records in selections, filters, orders, groups,
/// aggregates, relation conditions, paths, totals and cursors: random policies, sessions and queries against
/// a model that removes what is hidden first.
#[test]
fn policies_answer_as_the_data_that_they_leave() {
    let others = Others::start(7);
    if let Some(seed) = soak::number("MESH_DIFF_SEED") {
        let tally = check::seed(seed, true, &others).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        eprintln!("seed {seed}: {tally}");
        return;
    }
    let mut tally = Tally::default();
    for seed in SEEDS {
        tally += check::seed(seed, false, &others).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    // Policies that hide nothing would agree as well.
    for (name, most) in [("answers", 900), ("restricted", 200), ("refused", 80)] {
        assert!(tally.count(name) > most, "{tally}");
    }
    if let Some(seconds) = soak::number("MESH_DIFF_SECONDS") {
        soak::run(Duration::from_secs(seconds), tally, |seed| check::seed(seed, false, &others));
    }
}

/// The seeds of every run for writes.
const WRITE_SEEDS: std::ops::RangeInclusive<u64> = 1..=12;

/// Attack with a session of few rights: writes of hidden records, to hidden targets, of fields without a
/// right, and writes that move a record out of the role's view: random policies and writes against a model;
/// distinguishing a hidden record from one that does not exist by the error of a write.
#[test]
fn policies_hold_for_writes_and_streams() {
    let others = Others::start(4);
    let check = |seed| writes::seed(seed, &others);
    let mut tally = Tally::default();
    let seeds = soak::number("MESH_DIFF_SEED").map_or(WRITE_SEEDS, |seed| seed..=seed);
    for seed in seeds {
        tally += check(seed).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    if let Some(seconds) = soak::number("MESH_DIFF_SECONDS") {
        soak::run(Duration::from_secs(seconds), tally, check);
    } else if soak::number("MESH_DIFF_SEED").is_none() {
        for (name, most) in [("written", 60), ("refused", 100), ("hidden", 20), ("announced", 30)] {
            assert!(tally.count(name) > most, "{tally}");
        }
    }
}
