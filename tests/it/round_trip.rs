//! Laws of values: what was read is found again, each walk visits each record once, and writes answer with the record. `SPEC §5`
//!
//! An engine is described by data: its column types, with values as its own client writes them. The laws are the same for all.
//!
//! - `MESH_LAWS_TYPE=inet` checks only the types whose declaration contains the text.
//! - `MESH_LAWS_SECONDS=60` repeats the checks with other values and walks for this time.

#[allow(dead_code, reason = "each engine needs only some of the descriptions")]
mod engine;
mod mysql;
mod postgres;
mod sites;
mod sqlite;
mod values;
mod walks;
mod writes;

use std::time::{Duration, Instant};

use engine::{Client, ColumnType};
use sites::Site;

use crate::support::dice::Dice;
use crate::support::refusals;

/// Checks the laws for all types of an engine. `prepare` creates what the types need.
fn check(client: &dyn Client, types: &[ColumnType], prepare: &str) {
    let only = std::env::var("MESH_LAWS_TYPE").unwrap_or_default();
    let types: Vec<&ColumnType> = types.iter().filter(|ty| ty.declared.contains(&only)).collect();
    let seconds = std::env::var("MESH_LAWS_SECONDS").ok().and_then(|text| text.parse().ok());
    let (start, time) = (Instant::now(), Duration::from_secs(seconds.unwrap_or(0)));
    let mut seed = 1;
    loop {
        round(client, &types, prepare, seed);
        if start.elapsed() >= time {
            break;
        }
        seed += 1;
    }
    eprintln!("laws: {seed} rounds of {} types", types.len());
}

/// Checks the laws once, with new tables.
fn round(client: &dyn Client, types: &[&ColumnType], prepare: &str, seed: u64) {
    let mut dice = Dice(seed);
    let mut site = Site::start(client, types, prepare, seed);
    let tables = std::mem::take(&mut site.tables);
    for table in &tables {
        values::check(&mut site, table);
        walks::check(&mut site, table, &mut dice);
        writes::check(&mut site, table);
    }
    refusals::report(&site.faults);
}
