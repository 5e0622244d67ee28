//! Optional checks, whose prerequisites not every machine can download. All other checks fail if `MESH_REQUIRE_SERVICES` is
//! set and their program is missing.

use std::path::{Path, PathBuf};

/// An optional check, and why it may be left out.
pub(crate) const CHECKS: &[(&str, &str)] = &[
    ("advisories", "the advisory database is a git repository on another host than the packages"),
    ("rust-version", "rustup fetches the oldest compiler from a host of its own"),
    ("wasm32-unknown-unknown", "rustup fetches the standard library of the target from a host of its own"),
];

/// Returns why a check may be left out, or `None` if it may not.
pub(crate) fn reason(check: &str) -> Option<&'static str> {
    CHECKS.iter().find(|(name, _)| *name == check).map(|(_, why)| *why)
}

/// The file that lists what the last `cargo xtask check` left out, so that `cargo xtask test` can repeat it.
fn list(root: &Path) -> PathBuf {
    root.join("target/not-checked")
}

/// Records what was left out.
pub(crate) fn record(root: &Path, skipped: &[String]) {
    let text: String = skipped.iter().map(|line| format!("{line}\n")).collect();
    // Errors are ignored, because the list is only printed.
    let _ = std::fs::write(list(root), text);
}

/// Returns what the last check left out.
pub(crate) fn recorded(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(list(root)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
