//! The Node tools of the playground's sources, which tests use too.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Part, services_are_required, skip};

/// Returns the folder that contains `node_modules`.
///
/// If the modules are missing, they are installed when services are required; otherwise the caller skips its test.
#[must_use]
pub fn node_tools() -> Option<PathBuf> {
    if Part::Tools.is_left_out() {
        return None;
    }
    // Other processes run other tests at the same time.
    let installing =
        File::create(std::env::temp_dir().join("mesh-node-tools.lock")).expect("a temporary file");
    installing.lock().expect("a lock");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mesh-docs/ui");
    // If the package that was added last is installed, all packages are.
    if sources.join("node_modules/pyright").is_dir() {
        return Some(sources);
    }
    if !services_are_required() {
        skip("the page's tools", "run `npm ci` in mesh-docs/ui");
        return None;
    }
    let fetched = Command::new("npm").arg("ci").current_dir(&sources).status();
    assert!(fetched.is_ok_and(|status| status.success()), "`npm ci` in mesh-docs/ui fails");
    Some(sources)
}
