//! What comes from outside? The licenses of all packages, where they come from, and whether each is used at all.
//!
//! `deny.toml` has the licenses, for this and for cargo-deny, which knows of advisories besides but is not always
//! there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::arrows::{list, metadata, name};
use crate::steps;

/// The one place that packages come from.
const SOURCE: &str = "registry+";

/// Dependencies whose name no code has, and why they are there.
const KEPT: [(&str, &str, &str); 1] =
    [("mesh-uploads", "reqwest", "object_store uses it, and only here it is told which TLS to bring")];

/// Everything that should not come in.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut faults = unused(root)?;
    let rules = fs::read_to_string(root.join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let allowed = allowed(&rules);
    let resolved = resolved(root)?;
    for package in list(&resolved, "packages") {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let Some(source) = text("source") else { continue };
        if !source.starts_with(SOURCE) {
            faults.push(format!("{}: comes from {source}", name(package)));
        }
        match text("license") {
            Some(license) if is_allowed(license, &allowed) => {}
            Some(license) => {
                faults.push(format!("{}: the license {license} is not in deny.toml", name(package)))
            }
            None => faults.push(format!("{}: names no license", name(package))),
        }
    }
    Ok(faults)
}

/// The licenses of `deny.toml`, one in quotes on each line of the list.
fn allowed(rules: &str) -> Vec<&str> {
    let list = rules.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// All packages of the lock file that this machine would build.
fn resolved(root: &Path) -> Result<Value, String> {
    let rustc = Command::new("rustc").arg("-vV").output().map_err(|error| error.to_string())?;
    let rustc = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let arguments = format!("metadata --format-version 1 --offline --all-features --filter-platform {host}");
    let output = steps::command(root, &arguments, &[]).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("cannot read `cargo metadata`: {}", String::from_utf8_lossy(&output.stderr).trim())
    })
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` holds with these licenses alone. A slash is an
/// older way to write `OR`; an exception only ever gives more.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut place = 0;
    let holds = any(&words, &mut place, allowed);
    holds && place == words.len()
}

fn any(words: &[&str], place: &mut usize, allowed: &[&str]) -> bool {
    let mut holds = all(words, place, allowed);
    while words.get(*place) == Some(&"OR") {
        *place += 1;
        holds |= all(words, place, allowed);
    }
    holds
}

fn all(words: &[&str], place: &mut usize, allowed: &[&str]) -> bool {
    let mut holds = one(words, place, allowed);
    while words.get(*place) == Some(&"AND") {
        *place += 1;
        holds &= one(words, place, allowed);
    }
    holds
}

fn one(words: &[&str], place: &mut usize, allowed: &[&str]) -> bool {
    let Some(word) = words.get(*place) else { return false };
    *place += 1;
    if *word == "(" {
        let holds = any(words, place, allowed);
        *place += 1;
        return holds;
    }
    if words.get(*place) == Some(&"WITH") {
        *place += 2;
    }
    allowed.contains(word)
}

/// Dependencies of which no file of their package says the name.
fn unused(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root)?;
    let mut faults = Vec::new();
    for package in list(&metadata, "packages") {
        let manifest = package.get("manifest_path").and_then(Value::as_str).unwrap_or_default();
        let folder = Path::new(manifest).parent().unwrap_or(root);
        let code = code(folder);
        for dependency in list(package, "dependencies") {
            let renamed = dependency.get("rename").and_then(Value::as_str);
            let called = renamed.unwrap_or_else(|| name(dependency)).replace('-', "_");
            let kept = KEPT.iter().any(|(from, to, _)| (*from, *to) == (name(package), name(dependency)));
            if !kept && !says(&code, &called) {
                faults.push(format!("{}: nothing in it uses {}", name(package), name(dependency)));
            }
        }
    }
    Ok(faults)
}

/// The text of all of a package's files in Rust.
fn code(folder: &Path) -> String {
    let mut code = String::new();
    let mut open: Vec<PathBuf> =
        ["src", "tests", "benches", "examples", "it", "build.rs"].map(|part| folder.join(part)).to_vec();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
    code
}

/// Whether a text has a name as a whole word.
fn says(code: &str, word: &str) -> bool {
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
    fn expressions_of_licenses() {
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
    fn names_count_as_whole_words() {
        assert!(says("use http::Method;", "http"));
        assert!(!says("use http_body::Body; let xhttp = 1;", "http"));
    }

    #[test]
    fn the_list_is_read() {
        assert_eq!(
            allowed("[licenses]\nallow = [\n    \"MIT\", # why\n    \"ISC\",\n]\nx = [\"y\"]"),
            ["MIT", "ISC"]
        );
    }
}
