//! The Debian package: the program, a unit of systemd, an account and example settings. `dpkg-deb` builds it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::SERVER;

/// The settings that are installed. They are a configuration file, so an upgrade keeps changes to them.
const SETTINGS: &str = r#"# Settings of the service mesh-server. docs/reference.md of Mesh lists all of them.
# Paths are absolute: the service can read this folder and write to /var/lib/mesh-server only.
#
#   mesh-server check --config /etc/mesh-server/mesh.toml     reports every fault
#   systemctl enable --now mesh-server                        starts the service
#   curl http://127.0.0.1:4000/healthz                        asks it

listen = "127.0.0.1:4000"
database = "sqlite:/var/lib/mesh-server/mesh.db"
# database = "postgres://mesh-server@localhost/shop"
# schema = "/etc/mesh-server/schema.json"

# Without one of [integrity], [bearer] and [api_keys], every client that can reach the port can read everything.
# [integrity]
# enabled = true
# [integrity.users]
# table = "users"
"#;

/// The account of the service. The unit would use a dynamic account of this name; a fixed account can own a database.
const ACCOUNT: &str = "u mesh-server - \"Mesh\" /var/lib/mesh-server\n";

/// Runs after the files are in place. If `DPKG_ROOT` is set, the script creates the account only, because no system is
/// running in that root.
const AFTER_INSTALL: &str = r#"#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers --root="${DPKG_ROOT:-/}" mesh-server.conf || [ -n "$DPKG_ROOT" ]
  fi
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # Restarts a service that runs the previous version.
    systemctl try-restart mesh-server.service || true
  fi
fi
"#;

/// Runs before the files are removed.
const BEFORE_REMOVAL: &str = r#"#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now mesh-server.service || true
fi
"#;

/// Makes the package of a program for an architecture of Debian.
pub(super) fn make(
    root: &Path,
    folder: &Path,
    program: &Path,
    version: &str,
    architecture: &str,
) -> Result<PathBuf, String> {
    let name = format!("{SERVER}_{version}_{architecture}");
    let staging = folder.join(format!("{name}.staging"));
    let _ = fs::remove_dir_all(&staging);
    let made = stage(root, &staging, program, version, architecture).and_then(|()| {
        let package = folder.join(format!("{name}.deb"));
        let mut build = Command::new("dpkg-deb");
        build.args(["--build", "--root-owner-group", "-Zgzip", "-z6"]).arg(&staging).arg(&package);
        super::run_tool(build)?;
        Ok(package)
    });
    let _ = fs::remove_dir_all(&staging);
    made
}

fn stage(
    root: &Path,
    staging: &Path,
    program: &Path,
    version: &str,
    architecture: &str,
) -> Result<(), String> {
    let read =
        |path: PathBuf| fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let program = read(program.to_owned())?;
    let size = program.len().div_ceil(1024) + 64;
    let control = format!(
        "Package: {SERVER}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: Mesh <mesh-server@localhost>\n\
         Installed-Size: {size}\nSection: database\nPriority: optional\nRecommends: ca-certificates\n\
         Description: read API over a database\n \
         Serves SQLite and PostgreSQL as a read API at ordinary URLs, which returns JSON of\n \
         exactly the requested shape. The program is static; the service runs with few rights.\n"
    );
    let license = read(root.join("LICENSE"))?;
    let unit = read(root.join("docs/deploy/mesh-server.service"))?;
    let files: [(&str, &[u8], u32); 9] = [
        ("DEBIAN/control", control.as_bytes(), 0o644),
        ("DEBIAN/conffiles", b"/etc/mesh-server/mesh.toml\n", 0o644),
        ("DEBIAN/postinst", AFTER_INSTALL.as_bytes(), 0o755),
        ("DEBIAN/prerm", BEFORE_REMOVAL.as_bytes(), 0o755),
        ("usr/bin/mesh-server", &program, 0o755),
        ("usr/lib/systemd/system/mesh-server.service", &unit, 0o644),
        ("usr/lib/sysusers.d/mesh-server.conf", ACCOUNT.as_bytes(), 0o644),
        ("etc/mesh-server/mesh.toml", SETTINGS.as_bytes(), 0o644),
        ("usr/share/doc/mesh-server/copyright", &license, 0o644),
    ];
    for (name, bytes, mode) in files {
        place(&staging.join(name), bytes, mode).map_err(|error| format!("cannot write {name}: {error}"))?;
    }
    Ok(())
}

/// Writes a file below folders that everyone can read.
fn place(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
        fs::set_permissions(parent, fs::Permissions::from_mode(0o755))?;
    }
    fs::write(path, bytes)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use mesh_tests::{Database, Server, TempDir, skip};

    use super::*;

    fn dpkg(root: &Path, arguments: &[&str]) {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display()));
        // Scripts get the root in a variable instead of running inside it, where there is no shell.
        dpkg.args([
            "--force-script-chrootless",
            "--force-not-root",
            "--force-depends",
            "--force-bad-path",
            "--log=/dev/null",
        ]);
        let output = dpkg.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn has(program: &str) -> bool {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    }

    #[test]
    fn an_installed_package_serves_and_can_be_removed() {
        if !has("dpkg") || !has("dpkg-deb") {
            skip("dpkg", "install dpkg");
            return;
        }
        let (folder, scratch) = (TempDir::new(), TempDir::new());
        // The debug build replaces a static one, which would take minutes.
        let package = make(&crate::root(), folder.path(), mesh_tests::program(), "1.2.3", "all").unwrap();
        let root = scratch.path();
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
        dpkg(root, &["--install", &package.display().to_string()]);
        let program = root.join("usr/bin/mesh-server");
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
        let settings = root.join("etc/mesh-server/mesh.toml");
        if has("systemd-sysusers") {
            let accounts = fs::read_to_string(root.join("etc/passwd")).unwrap();
            assert!(accounts.contains("mesh-server:"), "{accounts}");
        }
        let unit = fs::read_to_string(root.join("usr/lib/systemd/system/mesh-server.service")).unwrap();
        assert!(unit.contains("ExecStart=/usr/bin/mesh-server serve --config /etc/mesh-server/mesh.toml"));
        let blog = Database::blog();
        let mut serve = mesh_tests::without_settings(&program);
        serve.arg("serve").arg("--config").arg(&settings);
        serve.args(["--listen", "127.0.0.1:0", "--log", "off", "--database", &blog.url()]);
        let server = Server::spawn(&mut serve);
        let reply = server.get("/post/1", r#"{"post":{"$select":{"title":true}}}"#);
        assert_eq!(reply.text(), r#"{"title":"Rust at dawn"}"#);
        drop(server);
        fs::write(&settings, "# changed\n").unwrap();
        dpkg(root, &["--remove", SERVER]);
        assert!(!program.exists());
        assert!(settings.exists(), "a changed configuration file stays until it is purged");
        dpkg(root, &["--purge", SERVER]);
        assert!(!settings.exists());
    }
}
