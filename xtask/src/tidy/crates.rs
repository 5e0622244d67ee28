//! Rules for published crates: manifest, README, documented features, and light dependency trees.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::dependencies::{list, metadata, name};
use crate::{files, steps};

/// Crates for programs without a runtime and without a database.
const LIGHT: [&str; 4] = ["mesh-ql", "mesh-schema", "mesh-plan", "mesh-sql"];

/// Packages that those crates must not depend on, directly or indirectly.
const HEAVY: [&str; 9] = [
    "tokio",
    "hyper",
    "mio",
    "rusqlite",
    "libsqlite3-sys",
    "tokio-postgres",
    "postgres-types",
    "mysql_async",
    "object_store",
];

/// The fields that the manifest of a published crate must have.
const MANIFEST: [&str; 7] =
    ["description", "license", "readme", "rust_version", "edition", "keywords", "categories"];

/// Returns the faults of all published crates.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root)?;
    let mut faults = Vec::new();
    for package in list(&metadata, "packages").iter().filter(|package| is_published(package)) {
        let folder = root.join(name(package));
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let documentation = Documentation { readme: &read("README.md"), library: &read("src/lib.rs") };
        let mut own = check_package(package, &documentation);
        if fs::read(folder.join("LICENSE")).unwrap_or_default()
            != fs::read(root.join("LICENSE")).unwrap_or_default()
        {
            own.push("has no copy of LICENSE".to_owned());
        }
        faults.extend(own.into_iter().map(|fault| format!("{}: {fault}", name(package))));
    }
    for light in LIGHT {
        let tree = format!("tree -p {light} --all-features -e normal --prefix none --locked");
        let output = steps::command(root, &tree, &[]).output();
        let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo {tree}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        faults.extend(heavy(light, &String::from_utf8_lossy(&output.stdout)));
    }
    faults.extend(examples(root));
    Ok(faults)
}

/// Whether a package is published.
pub(crate) fn is_published(package: &Value) -> bool {
    // An empty list of registries is `publish = false`.
    package.get("publish").is_none_or(Value::is_null)
}

/// The documentation of a crate.
struct Documentation<'a> {
    readme: &'a str,
    library: &'a str,
}

fn check_package(package: &Value, documentation: &Documentation<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for key in MANIFEST {
        let value = package.get(key);
        let is_there = match value {
            Some(Value::Array(list)) => (1..=5).contains(&list.len()),
            Some(Value::String(text)) => !text.is_empty(),
            _ => false,
        };
        if !is_there {
            faults.push(format!(
                "the field `{}` of its manifest is missing or too long",
                key.replace('_', "-")
            ));
        }
    }
    let is_tested = documentation.library.contains(&format!("{}/README.md\")", name(package)))
        || documentation.library.contains("include_str!(\"../README.md\")");
    // A program has no public items, and its README no Rust code.
    let is_library = !documentation.library.is_empty();
    if is_library && (!documentation.readme.contains("```rust") || !is_tested) {
        faults.push("its README has no example that doc tests run".to_owned());
    }
    if is_library && !documentation.library.contains("#![deny(missing_docs)]") {
        faults.push("its lib.rs does not deny missing documentation".to_owned());
    }
    for feature in features(package) {
        let word = format!("`{feature}`");
        let documented = documentation.library.lines().filter(|line| line.starts_with("//!"));
        if !documentation.readme.contains(&word) {
            faults.push(format!("its README does not describe the feature {word}"));
        }
        let is_described =
            documented.clone().any(|line| line.contains(&word)) || is_own_page(documentation.library);
        if is_library && !is_described {
            faults.push(format!("its lib.rs does not describe the feature {word}"));
        }
    }
    faults
}

/// Whether the README is the documentation of the crate.
fn is_own_page(library: &str) -> bool {
    library.contains("#![doc = include_str!(\"../README.md\")]")
}

/// Returns the features of a package, apart from the default.
pub(crate) fn features(package: &Value) -> Vec<&str> {
    let features = package.get("features").and_then(Value::as_object);
    features.into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| *name != "default").collect()
}

/// Returns the refused packages in the dependency tree of a crate.
fn heavy(light: &str, tree: &str) -> Vec<String> {
    let mut found: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    found.retain(|name| HEAVY.contains(name));
    found.sort_unstable();
    found.dedup();
    found.iter().map(|heavy| format!("{light}: must not depend on {heavy}")).collect()
}

/// Returns the examples that the README does not list, or that no test runs.
fn examples(root: &Path) -> Vec<String> {
    let index = fs::read_to_string(root.join("mesh-server/README.md")).unwrap_or_default();
    let mut faults = Vec::new();
    for package in ["mesh-server", "mesh-plan"] {
        let tests = files::read_text(&root.join(package).join("tests"), &["rs"]);
        for entry in fs::read_dir(root.join(package).join("examples")).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let Some(name) = file.to_string_lossy().strip_suffix(".rs").map(str::to_owned) else { continue };
            if !index.contains(&format!("examples/{name}.rs)")) {
                faults.push(format!("mesh-server/README.md: does not list the example '{name}'"));
            }
            if ![format!("\"{name}\""), format!("\"{name}{{}}\"")].iter().any(|word| tests.contains(word)) {
                faults.push(format!("{package}: no test runs the example '{name}'"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package() -> Value {
        json!({
            "name": "mesh-x", "description": "It.", "license": "MIT", "readme": "README.md", "edition": "2024",
            "rust_version": "1.89", "keywords": ["a"], "categories": ["b"], "features": {"default": [], "f": []},
        })
    }

    const README: &str = "It.\n```rust\n```\n`f`: more";
    const LIBRARY: &str =
        "//! `f` brings more.\n#![deny(missing_docs)]\n#[doc = include_str!(\"../README.md\")]";

    #[test]
    fn published_crates_are_documented() {
        let good = Documentation { readme: README, library: LIBRARY };
        assert_eq!(check_package(&package(), &good), Vec::<String>::new());
        let silent = Documentation { readme: "", library: "//! It." };
        assert_eq!(check_package(&package(), &silent).len(), 4);
        let program = Documentation { readme: "It has `f`.", library: "" };
        assert_eq!(check_package(&package(), &program), Vec::<String>::new());
        let mut bare = package();
        for key in MANIFEST {
            bare[key] = Value::Null;
        }
        bare["keywords"] = json!(["1", "2", "3", "4", "5", "6"]);
        assert_eq!(check_package(&bare, &good).len(), MANIFEST.len());
    }

    #[test]
    fn heavy_dependencies_are_found() {
        let tree = "mesh-ql v0.1.0 (path)\nserde v1.0.0\ntokio v1.0.0\ntokio v1.0.0 (*)\ntokio-util v1.0.0";
        assert_eq!(heavy("mesh-ql", tree), ["mesh-ql: must not depend on tokio"]);
    }

    #[test]
    fn unpublished_packages_are_recognized() {
        assert!(is_published(&package()));
        assert!(!is_published(&json!({ "publish": [] })));
    }
}
