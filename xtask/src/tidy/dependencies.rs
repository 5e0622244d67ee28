//! The permitted dependencies between the crates of the workspace.

use std::path::Path;

use serde_json::Value;

use crate::steps;

/// Packages that only [`SERVERS`] may depend on, so that every other crate works with any runtime. Back ends may use tokio.
const SERVER_ONLY: [&str; 3] = ["tokio", "hyper", "hyper-util"];

/// The service and the program, which may depend on those packages.
const SERVERS: [&str; 2] = ["mesh-server", "mesh-cli"];

/// The back ends, each with the drivers that no other crate may depend on.
const BACK_ENDS: [(&str, &[&str]); 3] = [
    ("mesh-sqlite", &["rusqlite", "libsqlite3-sys"]),
    ("mesh-mysql", &["mysql_async", "mysql_common"]),
    ("mesh-postgres", &["tokio-postgres", "postgres-types", "tokio-postgres-rustls"]),
];

/// Returns the dependencies of all manifests that are not permitted, development dependencies included.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root)?;
    let mut faults = Vec::new();
    for package in list(&metadata, "packages") {
        for dependency in list(package, "dependencies") {
            let (from, to) = (name(package), name(dependency));
            let optional = dependency.get("optional").and_then(Value::as_bool).unwrap_or(false);
            let is_for_tests = dependency.get("kind").and_then(Value::as_str) == Some("dev");
            if !(is_for_tests && is_for_tests_of(from, to)) {
                faults.extend(fault(from, to, optional));
            }
        }
    }
    Ok(faults)
}

/// Whether a dependency is allowed for tests only: tests open databases themselves, and use the test kit.
fn is_for_tests_of(from: &str, to: &str) -> bool {
    let is_back_end = BACK_ENDS.iter().any(|(name, _)| *name == to);
    match from {
        "mesh-server" => is_back_end || ["rusqlite", "mesh-sql", "mesh-tests"].contains(&to),
        _ => matches!((from, to), ("mesh-postgres" | "mesh-mysql", "mesh-tests")),
    }
}

/// Returns the metadata of the workspace.
pub(crate) fn metadata(root: &Path) -> Result<Value, String> {
    let mut cargo = steps::command(root, "metadata --format-version 1 --no-deps --locked", &[]);
    let output = cargo.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("cannot read `cargo metadata`: {}", String::from_utf8_lossy(&output.stderr).trim())
    })
}

pub(crate) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn name(value: &Value) -> &str {
    value.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn fault(from: &str, to: &str, optional: bool) -> Option<String> {
    let is_back_end = BACK_ENDS.iter().any(|(name, _)| *name == from);
    // Uploads are written to files on tokio's thread pool, COMMIT is awaited in a task of its own, and the black-box tests
    // await the replies of the browser's driver.
    let may_use_tokio = to == "tokio"
        && (["mesh-uploads", "mesh-backend", "mesh-integrity", "mesh-tests"].contains(&from) || is_back_end);
    if SERVER_ONLY.contains(&to) && !SERVERS.contains(&from) && !may_use_tokio {
        return Some(format!("{from}: must not depend on {to}, which belongs to mesh-server"));
    }
    let driver_of = BACK_ENDS.iter().find(|(_, drivers)| drivers.contains(&to));
    if let Some((back_end, _)) = driver_of
        // The black-box tests prepare databases.
        && ![*back_end, "mesh-tests"].contains(&from)
    {
        return Some(format!("{from}: must not depend on {to}, which belongs to {back_end}"));
    }
    // A crate may depend on itself to enable its features in tests.
    if !to.starts_with("mesh-") || to == from {
        return None;
    }
    match (from, to) {
        // No crate depends on the program.
        (_, "mesh-cli") => Some(format!("{from}: must not depend on {to}")),
        ("mesh-server", "mesh-backend" | "mesh-sql") => {
            Some(format!("{from}: must not depend on {to}, which only mesh-cli needs"))
        }
        ("mesh-server", to) if BACK_ENDS.iter().any(|(name, _)| *name == to) => {
            Some(format!("{from}: must not depend on {to}, which only mesh-cli needs"))
        }
        ("mesh-cli" | "mesh-server", _)
        | ("mesh-plan", "mesh-ql" | "mesh-schema")
        | ("mesh-wire", "mesh-ql") => None,
        ("mesh-docs", "mesh-plan" | "mesh-ql" | "mesh-schema" | "mesh-wire") => None,
        ("mesh-sql", "mesh-plan" | "mesh-ql" | "mesh-schema") => None,
        (_, "mesh-backend" | "mesh-plan" | "mesh-sql" | "mesh-ql" | "mesh-schema" | "mesh-integrity")
            if is_back_end =>
        {
            None
        }
        ("mesh-backend", "mesh-plan" | "mesh-sql" | "mesh-ql" | "mesh-schema" | "mesh-integrity") => None,
        // The conformance kit depends on no other crate, the test kit on the conformance kit alone.
        ("xtask", "mesh-tests" | "mesh-conformance") | ("mesh-tests", "mesh-conformance") => None,
        ("mesh-wire", "mesh-plan" | "mesh-integrity" | "mesh-uploads") if optional => None,
        ("mesh-wire", "mesh-plan" | "mesh-integrity" | "mesh-uploads") => {
            Some(format!("{from}: {to} must be optional"))
        }
        _ => Some(format!("{from}: must not depend on {to}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_point_from_the_server_to_the_language() {
        let allowed = [
            ("mesh-server", "mesh-wire", false),
            ("mesh-server", "tokio", false),
            ("mesh-cli", "mesh-server", false),
            ("mesh-cli", "mesh-sqlite", false),
            ("mesh-cli", "hyper", false),
            ("mesh-plan", "mesh-schema", false),
            ("mesh-sql", "mesh-plan", false),
            ("mesh-sqlite", "mesh-sql", false),
            ("mesh-wire", "mesh-plan", true),
            ("mesh-wire", "mesh-integrity", true),
            ("mesh-docs", "mesh-plan", false),
            ("mesh-uploads", "tokio", false),
            ("mesh-tests", "tokio", false),
            ("mesh-sqlite", "tokio", false),
            ("mesh-sqlite", "rusqlite", false),
            ("mesh-sqlite", "mesh-backend", false),
            ("mesh-backend", "mesh-integrity", false),
            ("mesh-backend", "tokio", false),
            ("mesh-postgres", "mesh-integrity", false),
            ("mesh-ql", "serde_json", false),
        ];
        for (from, to, optional) in allowed {
            assert_eq!(fault(from, to, optional), None, "{from} → {to}");
        }
        let refused = [
            ("mesh-ql", "mesh-schema", false),
            ("mesh-schema", "mesh-ql", true),
            ("mesh-plan", "mesh-wire", false),
            ("mesh-plan", "mesh-sql", false),
            ("mesh-sql", "mesh-sqlite", false),
            ("mesh-wire", "mesh-plan", false),
            ("mesh-wire", "mesh-uploads", false),
            ("mesh-wire", "mesh-schema", false),
            ("mesh-integrity", "mesh-ql", false),
            ("mesh-docs", "mesh-integrity", false),
            ("mesh-tests", "mesh-ql", false),
            ("xtask", "mesh-server", false),
            ("mesh-plan", "tokio", false),
            ("mesh-wire", "hyper", true),
            ("mesh-server", "rusqlite", true),
            ("mesh-server", "mesh-sqlite", true),
            ("mesh-server", "mesh-sql", false),
            ("mesh-server", "mesh-cli", false),
            ("mesh-cli", "rusqlite", false),
            ("mesh-sqlite", "tokio-postgres", false),
            ("mesh-sqlite", "mesh-wire", false),
            ("mesh-backend", "tokio-postgres", false),
            ("mesh-backend", "mesh-sqlite", false),
            ("mesh-backend", "mesh-wire", false),
            ("mesh-sqlite", "mesh-postgres", false),
            ("mesh-postgres", "hyper", false),
            ("mesh-mysql", "tokio-postgres", false),
            ("mesh-postgres", "mysql_async", false),
        ];
        for (from, to, optional) in refused {
            assert!(fault(from, to, optional).is_some_and(|fault| fault.starts_with(from)), "{from} → {to}");
        }
    }
}
