//! The fuzz targets on a stable compiler, with the inputs of their corpora and random mutations.
//!
//! `MESH_FUZZ_SECONDS` runs each target for that long; `MESH_FUZZ_SEED` seeds the mutations.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bodies::corpus::{Dice, load};

#[expect(unreachable_pub, reason = "a library where a fuzzer drives it")]
#[path = "../../../fuzz/src/lib.rs"]
mod bodies;

/// Mutated inputs for each target without `MESH_FUZZ_SECONDS`.
const ROUNDS: u32 = 2_000;
/// An input that takes longer is considered to hang, even on a busy machine without optimization.
const PATIENCE: Duration = Duration::from_secs(30);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

fn hold(name: &str) {
    let inputs = load(&folder().join("corpus").join(name));
    assert!(inputs.len() >= 10, "{name} has {} inputs", inputs.len());
    for (file, input) in &inputs {
        one(name, input, file);
    }
    let seed = number("MESH_FUZZ_SEED").unwrap_or(20_240_501);
    let end = number("MESH_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    println!("{name}: seed {seed}");
    let mut dice = Dice::new(seed);
    let mut round = 0;
    while end.map_or(round < ROUNDS, |end| Instant::now() < end) {
        one(name, &dice.change(&inputs), &format!("round {round} of seed {seed}"));
        round += 1;
    }
    println!("{name}: {round} changed inputs");
}

fn one(name: &str, input: &[u8], origin: &str) {
    let start = Instant::now();
    let outcome = catch_unwind(|| bodies::run(name, input));
    assert!(outcome.is_ok(), "{name}, {origin}: \"{}\"", input.escape_ascii());
    assert!(
        start.elapsed() < PATIENCE,
        "{name}, {origin} took {:?}: \"{}\"",
        start.elapsed(),
        input.escape_ascii()
    );
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { hold(stringify!($name)); })*

        #[test]
        fn every_target_is_driven_by_both() {
            let names = [$(stringify!($name)),*];
            assert_eq!(bodies::TARGETS.map(|(name, _)| name), names);
            let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
            for name in names {
                assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name}");
                let program = std::fs::read_to_string(folder().join(format!("fuzz_targets/{name}.rs"))).unwrap();
                assert!(program.contains(&format!("run(\"{name}\", data)")), "{name}");
            }
        }
    };
}

targets! {
    query_json query_ql plan headers posted cursor token signature bearer multipart statement schema join_on router events
    whole
}
