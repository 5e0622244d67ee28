//! Programs that tests need and that are not installed. Such tests are skipped, so `cargo xtask test` lists them.

use std::path::{Path, PathBuf};

/// Alternative program names, the package that provides them, and what is tested with them.
const PROGRAMS: &[(&[&str], &str, &str)] = &[
    (&["initdb"], "postgresql", "reads, writes and events over PostgreSQL"),
    (&["mariadbd"], "mariadb-server", "reads, writes and events over MariaDB"),
    (&["pgbouncer"], "pgbouncer", "PostgreSQL behind a pooler"),
    (&["chromium", "chromium-browser", "google-chrome"], "chromium", "the playground's page"),
    (&["chromedriver"], "chromium-driver", "the playground's page"),
    (&["node"], "nodejs", "TypeScript types and client, OpenAPI, JSON Schema"),
    (&["npm"], "npm", "TypeScript types and client, OpenAPI, JSON Schema"),
    (&["script"], "bsdutils", "terminal output"),
    (&["zsh"], "zsh", "shell completion"),
    (&["fish"], "fish", "shell completion"),
    (&["python3"], "python3", "signatures in Python, the server in Python that passes level 1"),
    (&["systemd-analyze"], "systemd", "the systemd unit"),
    (&["strace"], "strace", "uploads that are killed before each step"),
    (&["prlimit"], "util-linux", "a full disk"),
    (&["openssl"], "openssl", "signatures in shell scripts, TLS"),
    (&["sqlite3"], "sqlite3", "the guides"),
    (&["curl"], "curl", "the guides"),
    (&["nginx"], "nginx", "the server behind nginx"),
    (&["caddy"], "caddy", "the server behind Caddy"),
    (&["moto_server"], "moto from PyPI", "uploads to S3"),
    (&["mypy"], "mypy from PyPI", "Python types and client"),
];

/// Returns a line for each missing program. With `MESH_REQUIRE_SERVICES` set there are none, because missing programs
/// fail the tests.
pub(crate) fn skipped(root: &Path) -> Vec<String> {
    if mesh_tests::services_are_required() {
        return Vec::new();
    }
    let folders = folders(root);
    let is_installed = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    let missing = PROGRAMS.iter().filter(|(names, ..)| !names.iter().any(is_installed));
    let mut lines: Vec<_> = missing.map(|(_, package, what)| format!("{what}; install {package}")).collect();
    if !root.join("mesh-docs/ui/node_modules").is_dir() {
        lines.push("tests that need npm packages; run `npm ci --prefix mesh-docs/ui`".to_owned());
    }
    lines
}

/// Returns the directories of programs: those on the search path, and those that packages use outside it.
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
    fn ci_installs_every_program() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let ci = std::fs::read_to_string(root.join(".ci/run")).unwrap();
        for (_, package, _) in PROGRAMS {
            let name = package.split(' ').next().unwrap();
            assert!(ci.contains(name), "{package}");
        }
    }
}
