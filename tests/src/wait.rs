//! Waiting for conditions, and skipping tests of programs that are not installed.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long a test waits for a condition. Generous, because some conditions take many seconds on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until a condition holds; fails the test after [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    assert!(eventually(holds), "not within {PATIENCE:?}: {what}");
}

/// Waits for a result; fails the test with the last error after [`PATIENCE`].
#[track_caller]
pub fn wait_for<T, E: Display>(what: &str, mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(result) => return result,
            Err(error) => assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}: {error}"),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns whether a condition holds within [`PATIENCE`].
pub fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Returns whether tests fail if a program that they need is not installed: `MESH_REQUIRE_SERVICES` is 1.
#[must_use]
pub fn services_are_required() -> bool {
    std::env::var_os("MESH_REQUIRE_SERVICES").is_some_and(|value| value == "1")
}

/// Reports that a test is skipped because a program is missing, or fails it if services are required.
#[track_caller]
pub fn skip(program: &str, how: &str) {
    assert!(!services_are_required(), "{program} is not installed: {how}");
    eprintln!("skipped: {program} is not installed; {how}");
}
