//! `mesh-conformance` as one static program, which runs on any machine of the architecture without libraries.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::Steps;

/// The name of the step that inspects the program.
const STATIC: &str = "static program";

/// The C libraries that a program can contain, the preferred one first.
const LIBRARIES: [&str; 2] = ["musl", "gnu"];

/// The type of the entry of an ELF file that names the loader of shared libraries.
const PT_INTERP: u32 = 3;

/// Builds the program as it is released and prints where it is.
pub(crate) fn run(root: &Path) -> ExitCode {
    let steps = build(Steps::new(root.to_owned()), root, "dist");
    if !steps.failed()
        && let Ok(program) = program(root, "dist")
    {
        eprintln!("{}", program.display());
    }
    steps.finish()
}

/// Adds a build of the program with the profile of tests, and its inspection.
pub(crate) fn steps(root: &Path, steps: Steps) -> Steps {
    if !cfg!(target_os = "linux") {
        return steps;
    }
    build(steps, root, "dev")
}

fn build(steps: Steps, root: &Path, profile: &str) -> Steps {
    let target = match target(root) {
        Ok(target) => target,
        Err(why) => return steps.fail(STATIC, &why),
    };
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let flags = format!("{flags} -C target-feature=+crt-static");
    let arguments = format!("build --quiet --profile {profile} --package mesh-conformance --target {target}");
    let variables = [("RUSTFLAGS", flags.trim()), ("CARGO_PROFILE_DIST_STRIP", "symbols")];
    let inspection = if profile == "dist" { inspect_dist } else { inspect_dev };
    let steps = steps.cargo_with(&format!("conformance, {profile}"), &arguments, &variables);
    if steps.failed() { steps } else { steps.inside(STATIC, inspection) }
}

/// Returns the target whose standard library is installed.
fn target(root: &Path) -> Result<String, String> {
    if !cfg!(target_os = "linux") {
        return Err("static programs are built on Linux".to_owned());
    }
    let is_installed = |target: &String| {
        let mut rustc = Command::new("rustc");
        rustc.current_dir(root).args(["--print", "target-libdir", "--target", target]);
        let folder =
            rustc.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        folder.is_some_and(|folder| Path::new(&folder).is_dir())
    };
    let targets = LIBRARIES.map(|library| format!("{}-unknown-linux-{library}", std::env::consts::ARCH));
    let found = targets.iter().find(|target| is_installed(target)).cloned();
    found.ok_or_else(|| format!("install a target with `rustup target add {}`", targets.join("` or `")))
}

fn program(root: &Path, folder: &str) -> Result<PathBuf, String> {
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(built.join(target(root)?).join(folder).join("mesh-conformance"))
}

fn inspect_dist(root: &Path) -> Result<Vec<String>, String> {
    inspect(&program(root, "dist")?)
}

fn inspect_dev(root: &Path) -> Result<Vec<String>, String> {
    inspect(&program(root, "debug")?)
}

/// Returns the faults of a program that should be static and contain the kit.
fn inspect(program: &Path) -> Result<Vec<String>, String> {
    let shown = program.display();
    let bytes = std::fs::read(program).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let mut faults = Vec::new();
    match has_loader(&bytes) {
        Some(false) => {}
        Some(true) => faults.push(format!("{shown} needs shared libraries")),
        None => faults.push(format!("{shown} is not a 64-bit ELF program")),
    }
    let output = Command::new(program).arg("--help").env_clear().current_dir("/").output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            faults.push(format!("{shown} --help: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Err(error) => faults.push(format!("cannot start {shown}: {error}")),
    }
    Ok(faults)
}

/// Returns whether a program names a loader of shared libraries; `None` if it is not a 64-bit ELF file with the lowest
/// byte first.
fn has_loader(program: &[u8]) -> Option<bool> {
    if !program.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return None;
    }
    let two = |at: usize| program.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes).map(usize::from);
    let table = u64::from_le_bytes(program.get(32..40)?.try_into().ok()?);
    let table = program.get(usize::try_from(table).ok()?..)?;
    let (size, count) = (two(54)?, two(56)?);
    let kind = |entry: &[u8]| entry.first_chunk().copied().map(u32::from_le_bytes);
    Some(table.chunks(size.max(1)).take(count).any(|entry| kind(entry) == Some(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF file with entries of these types.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn programs_that_need_shared_libraries_are_recognized() {
        assert_eq!(has_loader(&program(&[6, 3, 1])), Some(true));
        assert_eq!(has_loader(&program(&[6, 1, 2])), Some(false));
        assert_eq!(has_loader(&program(&[])), Some(false));
        assert_eq!(has_loader(b"#!/bin/sh\n"), None);
        assert_eq!(has_loader(&program(&[1])[..40]), None);
    }
}
