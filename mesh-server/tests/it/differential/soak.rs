//! Environment variables for longer runs and for single seeds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::tally::Tally;

/// Returns the number in an environment variable, if it is set.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("the variable is a whole number"))
}

/// Compares further seeds, starting from the current time.
pub(crate) fn run(time: Duration, mut tally: Tally, check: impl Fn(u64) -> Result<Tally, String>) {
    let start = Instant::now();
    let mut shown = start;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    let mut seed = now.as_micros() as u64;
    while start.elapsed() < time {
        seed += 1;
        tally += check(seed).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        if shown.elapsed() > Duration::from_secs(5) {
            shown = Instant::now();
            eprintln!("{:4} s, seed {seed}: {tally}", start.elapsed().as_secs());
        }
    }
    eprintln!("no mismatch: {tally}");
}
