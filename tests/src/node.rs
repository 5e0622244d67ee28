//! Where do the tools of Node lie that tests use? With the sources of the playground's page.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The folder that has `node_modules`. Where Node or they are not, that is said in one line, or they are fetched
/// where `MESH_REQUIRE_SERVICES` says that nothing may be left out.
#[must_use]
pub fn node_tools() -> Option<PathBuf> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mesh-docs/ui");
    if sources.join("node_modules/axe-core").is_dir() {
        return Some(sources);
    }
    if std::env::var_os("MESH_REQUIRE_SERVICES").is_none() {
        eprintln!("left out: the page's tools are not there; get them with `npm ci` in mesh-docs/ui");
        return None;
    }
    let fetched = Command::new("npm").arg("ci").current_dir(&sources).status();
    assert!(fetched.is_ok_and(|status| status.success()), "`npm ci` in mesh-docs/ui fails");
    Some(sources)
}
