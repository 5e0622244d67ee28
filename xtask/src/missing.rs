//! Which programs do tests want that this machine has not? Their tests pass by with a line that nobody sees.

use std::path::{Path, PathBuf};

/// Programs of which one is enough, the package that brings them, and what is tested with them.
const PROGRAMS: &[(&[&str], &str, &str)] = &[
    (&["initdb"], "postgresql", "reads, writes and events over PostgreSQL"),
    (&["pgbouncer"], "pgbouncer", "PostgreSQL behind a pooler"),
    (&["chromium", "chromium-browser", "google-chrome"], "chromium", "the playground's page"),
    (&["chromedriver"], "chromium-driver", "the playground's page"),
    (&["node"], "nodejs", "types and client for TypeScript, OpenAPI, JSON Schema"),
    (&["npm"], "npm", "types and client for TypeScript, OpenAPI, JSON Schema"),
    (&["script"], "bsdutils", "what a terminal shows"),
    (&["openssl"], "openssl", "signatures in shells, private connections"),
    (&["sqlite3"], "sqlite3", "the guides"),
    (&["curl"], "curl", "the guides"),
    (&["nginx"], "nginx", "a server behind nginx"),
    (&["caddy"], "caddy", "a server behind Caddy"),
    (&["moto_server"], "moto from PyPI", "files in buckets"),
];

/// A line for each program that is not there, unless that fails the tests anyway.
pub(crate) fn left_out(root: &Path) -> Vec<String> {
    if std::env::var_os("MESH_REQUIRE_SERVICES").is_some() {
        return Vec::new();
    }
    let folders = folders(root);
    let is_there = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    let missing = PROGRAMS.iter().filter(|(names, ..)| !names.iter().any(is_there));
    let mut lines: Vec<_> = missing.map(|(_, package, what)| format!("{what}; install {package}")).collect();
    if !root.join("mesh-docs/ui/node_modules").is_dir() {
        lines.push("whatever needs Node's packages; get them with `npm ci --prefix mesh-docs/ui`".to_owned());
    }
    lines
}

/// Where programs lie: on the search path, and where packages put those that are not on it.
fn folders(root: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend([
        PathBuf::from("/usr/sbin"),
        PathBuf::from("/usr/lib/chromium"),
        root.join("target/tools/bin"),
    ]);
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_installs_whatever_is_wanted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let ci = std::fs::read_to_string(root.join(".ci/run")).unwrap();
        for (_, package, _) in PROGRAMS {
            let name = package.split(' ').next().unwrap();
            assert!(ci.contains(name), "{package}");
        }
    }
}
