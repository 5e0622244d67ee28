//! Rules for external packages: their licenses, their sources, and that each dependency is used.
//!
//! `deny.toml` lists the licenses, for this check and for cargo-deny, which also checks advisories but is not always
//! installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use super::dependencies::{list, metadata, name};
use crate::{files, steps};

/// The only permitted source of packages.
const SOURCE: &str = "registry+";

/// Dependencies that no code names, and the reason for them.
const UNNAMED: [(&str, &str, &str); 1] =
    [("mesh-uploads", "reqwest", "object_store uses it; its TLS features are selected here")];

/// Returns the faults of all external packages.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut faults = unused(root)?;
    let rules = fs::read_to_string(root.join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let allowed = allowed(&rules);
    let resolved = resolved(root)?;
    for package in list(&resolved, "packages") {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let Some(source) = text("source") else { continue };
        if !source.starts_with(SOURCE) {
            faults.push(format!("{}: comes from {source}, not from the registry", name(package)));
        }
        match text("license") {
            Some(license) if is_allowed(license, &allowed) => {}
            Some(license) => {
                faults.push(format!("{}: deny.toml does not allow the license {license}", name(package)))
            }
            None => faults.push(format!("{}: has no license field", name(package))),
        }
    }
    Ok(faults)
}

/// Returns the licenses of `deny.toml`: the quoted texts of the list.
fn allowed(rules: &str) -> Vec<&str> {
    let list = rules.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// Returns the packages of the lock file that are built for the host.
fn resolved(root: &Path) -> Result<Value, String> {
    let rustc = Command::new("rustc").arg("-vV").output().map_err(|error| error.to_string())?;
    let rustc = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let arguments = format!("metadata --format-version 1 --locked --all-features --filter-platform {host}");
    let output = steps::command(root, &arguments, &[]).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("cannot read `cargo metadata`: {}", String::from_utf8_lossy(&output.stderr).trim())
    })
}

/// Whether the allowed licenses satisfy an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0`. Old manifests
/// write a slash for `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    expression.evaluate(|requirement| {
        requirement.license.id().is_some_and(|license| allowed.contains(&license.name))
    })
}

/// Returns the dependencies that no file of their package names.
fn unused(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root)?;
    let mut faults = Vec::new();
    for package in list(&metadata, "packages") {
        let manifest = package.get("manifest_path").and_then(Value::as_str).unwrap_or_default();
        let folder = Path::new(manifest).parent().unwrap_or(root);
        // The README's examples are doc tests.
        let code = files::read_text(folder, &["rs", "md"]);
        for dependency in list(package, "dependencies") {
            let renamed = dependency.get("rename").and_then(Value::as_str);
            let called = renamed.unwrap_or_else(|| name(dependency)).replace('-', "_");
            let is_unnamed =
                UNNAMED.iter().any(|(from, to, _)| (*from, *to) == (name(package), name(dependency)));
            if !is_unnamed && !names(&code, &called) {
                faults.push(format!("{}: the dependency {} is not used", name(package), name(dependency)));
            }
        }
    }
    Ok(faults)
}

/// Whether a text contains a name as a whole word.
fn names(code: &str, word: &str) -> bool {
    let is_part = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    code.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| code.as_bytes().get(before)).copied();
        !is_part(before) && !is_part(code.as_bytes().get(at + word.len()).copied())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn license_expressions_are_evaluated() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        for fine in [
            "MIT",
            "GPL-2.0-only OR MIT",
            "GPL-2.0-only/MIT",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
        ] {
            assert!(is_allowed(fine, &allowed), "{fine}");
        }
        for wrong in ["", "GPL-2.0-only", "MIT AND GPL-2.0-only", "(GPL-2.0-only OR MIT) AND ISC", "MIT MIT"]
        {
            assert!(!is_allowed(wrong, &allowed), "{wrong}");
        }
    }

    #[test]
    fn only_whole_words_count_as_names() {
        assert!(names("use http::Method;", "http"));
        assert!(!names("use http_body::Body; let xhttp = 1;", "http"));
    }

    #[test]
    fn licenses_are_read_from_the_configuration() {
        assert_eq!(
            allowed("[licenses]\nallow = [\n    \"MIT\", # why\n    \"ISC\",\n]\nx = [\"y\"]"),
            ["MIT", "ISC"]
        );
    }
}
