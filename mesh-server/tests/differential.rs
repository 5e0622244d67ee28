//! Does SQLite answer every query as plain tables in memory do, byte for byte?
//!
//! Random schemas, data and queries are put to both, and cursors are followed to the end. The same seed
//! always makes the same database and the same queries.
//!
//! - `MESH_DIFF_SEED=7` runs that seed alone and shows what it compares.
//! - `MESH_DIFF_SECONDS=60` goes on with fresh seeds for that long.

#[cfg(test)]
#[path = "differential/check.rs"]
mod check;
#[cfg(test)]
#[path = "differential/data.rs"]
mod data;
#[cfg(test)]
#[path = "differential/dice.rs"]
mod dice;
#[cfg(test)]
#[path = "differential/query.rs"]
mod query;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use check::Tally;

/// What every run of the tests compares.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=300;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("the variable is a whole number"))
}

#[test]
fn sqlite_and_memory_agree() {
    if let Some(seed) = number("MESH_DIFF_SEED") {
        let tally = check::seed(seed, true).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        eprintln!("seed {seed}: {tally}");
        return;
    }
    let mut tally = Tally::default();
    for seed in SEEDS {
        tally += check::seed(seed, false).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    // A generator that makes next to nothing would agree with everything.
    assert!(tally.bodies > 6_000 && tally.pages > 1_500 && tally.rows > 6_000, "{tally}");
    if let Some(seconds) = number("MESH_DIFF_SECONDS") {
        soak(Duration::from_secs(seconds), tally);
    }
}

/// Goes on with seeds that no run has seen before.
fn soak(time: Duration, mut tally: Tally) {
    let start = Instant::now();
    let mut shown = start;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    let mut seed = now.as_micros() as u64;
    while start.elapsed() < time {
        seed += 1;
        tally += check::seed(seed, false).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        if shown.elapsed() > Duration::from_secs(5) {
            shown = Instant::now();
            eprintln!("{:4} s, seed {seed}: {tally}", start.elapsed().as_secs());
        }
    }
    eprintln!("no mismatch: {tally}");
}
