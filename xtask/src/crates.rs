//! Checks of each crate on its own: every feature alone, the minimum Rust version, WebAssembly, and packaging.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::steps::{self, Steps};
use crate::tidy::crates::{features, is_published};
use crate::tidy::dependencies::{list, metadata, name};

/// The target for browsers.
const WASM: &str = "wasm32-unknown-unknown";

/// A warning of `cargo package` that is expected, because the repository has no public address.
const REMINDER: &str = "manifest has no documentation, homepage or repository";

/// Adds the steps to a run.
pub(crate) fn steps(root: &Path, steps: Steps) -> Steps {
    let metadata = match metadata(root) {
        Ok(metadata) => metadata,
        Err(error) => return steps.fail("crates", &error),
    };
    let packages = list(&metadata, "packages").iter().filter(|package| is_published(package));
    let mut steps = steps;
    for package in packages {
        let crate_name = name(package);
        let bare = format!("check --quiet -p {crate_name} --no-default-features");
        steps = steps.cargo(&format!("{crate_name}, alone"), &bare);
        for feature in features(package) {
            let title = format!("{crate_name}, {feature}");
            steps = steps.cargo(&title, &format!("{bare} --features {feature}"));
        }
    }
    let steps = steps
        .cargo("examples, no features", "check --quiet -p mesh-server --no-default-features --examples")
        .check("package", package);
    oldest_compiler(root, &metadata, browser(root, steps))
}

/// Packages the published crates without building them: cargo caches the unpacked sources of a version, so a second
/// build would use the first contents. Other steps build the crates.
fn package(root: &Path) -> Result<Vec<String>, String> {
    let arguments = "package --workspace --exclude xtask --exclude mesh-tests --exclude mesh-conformance --no-verify --allow-dirty --offline";
    let output = steps::command(root, arguments, &[]).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let mut faults: Vec<String> = printed
        .lines()
        .filter(|line| line.starts_with("warning") || line.starts_with("error"))
        .filter(|line| !line.contains(REMINDER))
        .map(str::to_owned)
        .collect();
    if !output.status.success() && faults.is_empty() {
        faults.push(printed.trim().to_owned());
    }
    Ok(faults)
}

/// Checks the crates that a client in a browser needs.
fn browser(root: &Path, steps: Steps) -> Steps {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root).args(["--print", "target-libdir", "--target", WASM]);
    let folder = rustc.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let has_target = folder.is_some_and(|folder| Path::new(&folder).is_dir());
    // ring compiles C code.
    let has_clang =
        Command::new("clang").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_clang {
        return steps.skip("clang", &format!("install Debian's clang; {WASM} needs it"));
    }
    if !has_target {
        return steps.skip(WASM, &format!("install it with `rustup target add {WASM}`"));
    }
    let arguments = format!("check --quiet -p mesh-wire -p mesh-integrity --target {WASM}");
    steps.cargo(WASM, &arguments)
}

/// Checks the workspace with the minimum Rust version of the manifests.
fn oldest_compiler(root: &Path, metadata: &Value, steps: Steps) -> Steps {
    let versions = list(metadata, "packages").iter().filter_map(|package| package.get("rust_version"));
    let Some(version) = versions.filter_map(Value::as_str).next() else {
        return steps.fail("rust-version", "no manifest has a rust-version");
    };
    let toolchains = Command::new("rustup").args(["toolchain", "list"]).output();
    let toolchains = toolchains.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let toolchains = toolchains.unwrap_or_default();
    let Some(oldest) = installed(version, &toolchains) else {
        let how = format!("install it with `rustup toolchain install {version} --profile minimal`");
        return steps.skip("rust-version", &how);
    };
    let mut cargo = steps::plain_command(root, "rustup");
    cargo.args(["run", oldest, "cargo", "check", "--quiet", "--workspace"]);
    steps.program(&format!("Rust {version}"), cargo)
}

/// Returns the name of the installed toolchain of a version.
fn installed<'t>(version: &str, toolchains: &'t str) -> Option<&'t str> {
    let mut names = toolchains.lines().filter_map(|line| line.split_whitespace().next());
    names.find(|name| name.strip_prefix(version).is_some_and(|rest| rest.starts_with(['.', '-'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_for_browsers_is_optional() {
        assert!(crate::optional::reason(WASM).is_some());
    }

    #[test]
    fn toolchain_of_a_version_is_found() {
        let toolchains = "stable-x86_64-unknown-linux-gnu (active, default)\n1.8.0-x86_64\n1.89.0-x86_64\n";
        assert_eq!(installed("1.89", toolchains), Some("1.89.0-x86_64"));
        assert_eq!(installed("1.90", toolchains), None);
    }
}
