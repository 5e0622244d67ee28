//! The bill of materials of the server: the packages that it is built from, as a CycloneDX document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{FEATURES, SERVER, SERVER_PACKAGE, write};
use crate::steps;
use crate::tidy::dependencies::{list, name};

/// Writes the document of the server for these targets.
pub(super) fn make(root: &Path, folder: &Path, targets: &[&str]) -> Result<PathBuf, String> {
    let metadata = printed(
        root,
        &format!("metadata --format-version 1 --locked --features {SERVER_PACKAGE}/{FEATURES}"),
    )?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let mut built = BTreeSet::new();
    for target in targets {
        // The metadata covers the workspace with the features of all members; the tree covers the server alone.
        let tree = format!(
            "tree --locked -p {SERVER_PACKAGE} --features {FEATURES} --target {target} -e normal,build --prefix none"
        );
        built.extend(printed(root, &tree)?.lines().filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
        }));
    }
    let lock =
        std::fs::read_to_string(root.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let document = document(&metadata, &built, &checksums(&lock))?;
    write(&folder.join(format!("{SERVER}.cdx.json")), format!("{document:#}\n").as_bytes())
}

/// Runs cargo and returns what it prints.
fn printed(root: &Path, arguments: &str) -> Result<String, String> {
    let output = steps::command(root, arguments, &[]).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the checksums of a lock file by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").skip(1).filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.collect()
}

/// Returns the document of the packages that the server is `built` from, including tools that run during the build.
fn document(
    metadata: &Value,
    built: &BTreeSet<(String, String)>,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Value, String> {
    let is_built = |package: &Value| {
        let version = package.get("version").and_then(Value::as_str).unwrap_or_default();
        built.contains(&(name(package).to_owned(), version.to_owned()))
    };
    let packages = list(metadata, "packages").iter().filter(|package| is_built(package));
    let packages: BTreeMap<&str, &Value> =
        packages.filter_map(|package| Some((package.get("id")?.as_str()?, package))).collect();
    let nodes = metadata.get("resolve").map(|resolve| list(resolve, "nodes")).unwrap_or_default();
    let edges: BTreeMap<&str, BTreeSet<&str>> = nodes.iter().filter_map(edges_of).collect();
    let server = packages.iter().find(|(_, package)| name(package) == SERVER_PACKAGE);
    let server = *server.ok_or("cargo metadata has no server")?.0;
    let mut reached = BTreeSet::from([server]);
    let mut open = vec![server];
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if packages.contains_key(next) && reached.insert(next) {
                open.push(next);
            }
        }
    }
    let reference = |id: &str| packages.get(id).map(|package| purl(package)).unwrap_or_default();
    let component = |id: &str, ty: &str| packages.get(id).map(|package| component(package, ty, checksums));
    let components = reached.iter().filter(|id| **id != server).filter_map(|id| component(id, "library"));
    let dependencies = reached.iter().map(|id| {
        let on = edges.get(id).into_iter().flatten().filter(|id| reached.contains(*id));
        let on: Vec<_> = on.map(|id| reference(id)).collect();
        json!({"ref": reference(id), "dependsOn": on})
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(server, "application")},
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// Returns the id of a package and the packages that it is built from, without development dependencies.
fn edges_of(node: &Value) -> Option<(&str, BTreeSet<&str>)> {
    let is_built = |dependency: &&Value| {
        list(dependency, "dep_kinds")
            .iter()
            .any(|kind| kind.get("kind").and_then(Value::as_str) != Some("dev"))
    };
    let on =
        list(node, "deps").iter().filter(is_built).filter_map(|dependency| dependency.get("pkg")?.as_str());
    Some((node.get("id")?.as_str()?, on.collect()))
}

fn component(package: &Value, ty: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut component = json!({
        "type": ty, "bom-ref": purl(package), "name": text("name"), "version": text("version"), "purl": purl(package),
    });
    let Some(members) = component.as_object_mut() else { return component };
    if let Some(license) = package.get("license").and_then(Value::as_str) {
        // Older manifests separate alternatives by a slash.
        let expression = license.replace(" / ", " OR ").replace('/', " OR ");
        members.insert("licenses".to_owned(), json!([{"expression": expression}]));
    }
    if let Some(checksum) = checksums.get(&(text("name").to_owned(), text("version").to_owned())) {
        members.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": checksum}]));
    }
    component
}

/// Returns the address of a package by the scheme of package URLs.
fn purl(package: &Value) -> String {
    let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use mesh_tests::TempDir;

    use super::*;

    #[test]
    fn the_document_has_every_package_of_the_server_once() {
        let folder = TempDir::new();
        let path = make(&crate::root(), folder.path(), &["x86_64-unknown-linux-gnu"]).unwrap();
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!((&document["bomFormat"], &document["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
        assert_eq!(document["metadata"]["component"]["name"], SERVER_PACKAGE);
        let components = document["components"].as_array().unwrap();
        let mut references = BTreeSet::new();
        for component in components {
            let reference = component["bom-ref"].as_str().unwrap();
            assert!(references.insert(reference), "{reference} is there twice");
            assert!(component["licenses"][0]["expression"].is_string(), "{reference} has no license");
            let expression = component["licenses"][0]["expression"].as_str().unwrap();
            assert!(spdx::Expression::parse(expression).is_ok(), "{reference}: {expression}");
            let is_own = component["name"].as_str().unwrap().starts_with("mesh-");
            let hash = component["hashes"][0]["content"].as_str();
            assert!(is_own || hash.is_some_and(|hash| hash.len() == 64), "{reference} has no checksum");
        }
        for name in ["mesh-plan", "hyper", "libsqlite3-sys", "tokio-postgres", "object_store", "rmcp"] {
            assert!(components.iter().any(|component| component["name"] == name), "{name} is missing");
        }
        for name in ["expect-test", "windows-sys", "mesh-tests", "rcgen"] {
            assert!(
                components.iter().all(|component| component["name"] != name),
                "{name} is not in the program"
            );
        }
        let own = document["metadata"]["component"]["bom-ref"].as_str().unwrap();
        references.insert(own);
        let dependencies = document["dependencies"].as_array().unwrap();
        let described: BTreeSet<_> =
            dependencies.iter().map(|entry| entry["ref"].as_str().unwrap()).collect();
        assert_eq!(described, references);
        let on = dependencies.iter().flat_map(|entry| entry["dependsOn"].as_array().unwrap());
        assert!(on.clone().count() > references.len());
        assert!(on.into_iter().all(|it| references.contains(it.as_str().unwrap())));
    }
}
