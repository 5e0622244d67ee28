//! Repository rules that the compiler cannot check: dependencies between crates, and what every file must contain.

pub(crate) mod crates;
pub(crate) mod dependencies;
mod language;
mod macs;
mod outside;
mod sources;

use std::fs;
use std::path::Path;

/// The commands that the README must name.
const COMMANDS: [&str; 2] = ["cargo xtask check", "cargo xtask test"];

/// Returns every violation of a rule, one line each.
pub(crate) fn run(root: &Path) -> Result<Vec<String>, String> {
    let mut faults = dependencies::faults(root)?;
    faults.extend(sources::faults(root)?);
    faults.extend(crates::faults(root)?);
    faults.extend(outside::faults(root)?);
    let readme = fs::read_to_string(root.join("README.md")).unwrap_or_default();
    for command in COMMANDS {
        if !readme.contains(command) {
            faults.push(format!("README.md: does not name `{command}`"));
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let faults = super::run(&crate::root()).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
