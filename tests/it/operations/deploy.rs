//! The systemd unit and the health check.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use mesh_tests::{Database, Request, Server, TempDir, command, program, skip, wait_until};

const UNIT: &str = include_str!("../../../docs/deploy/mesh-server.service");
const GUIDE: &str = include_str!("../../../docs/deployment.md");

/// The restrictions that the unit must contain.
const HARDENED: [(&str, &str); 16] = [
    ("CapabilityBoundingSet", ""),
    ("DynamicUser", "yes"),
    ("LockPersonality", "yes"),
    ("MemoryDenyWriteExecute", "yes"),
    ("NoNewPrivileges", "yes"),
    ("PrivateDevices", "yes"),
    ("PrivateTmp", "yes"),
    ("PrivateUsers", "yes"),
    ("ProtectControlGroups", "yes"),
    ("ProtectHome", "yes"),
    ("ProtectKernelModules", "yes"),
    ("ProtectKernelTunables", "yes"),
    ("ProtectSystem", "strict"),
    ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
    ("RestrictNamespaces", "yes"),
    ("SystemCallArchitectures", "native"),
];

#[test]
fn unit_forbids_what_a_server_does_not_need() {
    let keys: BTreeMap<&str, &str> =
        UNIT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('=')).collect();
    for (key, value) in HARDENED {
        assert_eq!(keys.get(key), Some(&value), "{key}");
    }
    // Longer than the server waits for running requests.
    let stop: u32 = keys["TimeoutStopSec"].parse().unwrap();
    assert!(stop > 10);
    assert!(keys["ExecReload"].contains("-HUP"));
}

#[test]
fn systemd_accepts_the_unit() {
    let analyze = |arguments: &[&str]| -> Option<Output> {
        Command::new("systemd-analyze").args(arguments).env("SYSTEMD_COLORS", "0").output().ok()
    };
    if analyze(&["--version"]).is_none() {
        skip("systemd-analyze", "install Debian's systemd");
        return;
    }
    let folder = TempDir::new();
    let own = UNIT.replace("/usr/bin/mesh-server", &program().display().to_string());
    std::fs::create_dir_all(folder.path().join("docs/deploy")).unwrap();
    let path = folder.write("docs/deploy/mesh-server.service", &own);
    let installed = folder.path().display().to_string();
    // The guide derives the installed units from this one: with the secret, and with a port as the parameter.
    for command in GUIDE.lines().filter(|line| line.starts_with("sed ")) {
        let command = command.replace("/etc/systemd/system", &installed);
        let made = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).status().unwrap();
        assert!(made.success(), "{command}");
    }
    let unit = std::fs::read_to_string(folder.path().join("mesh@.service")).unwrap();
    for line in ["LoadCredentialEncrypted=secret:/etc/mesh-server/secret.cred", "User=mesh-server"] {
        assert!(unit.lines().any(|other| other == line), "{line}: {unit}");
    }
    assert!(unit.contains(" --listen 127.0.0.1:%i\n"), "{unit}");
    let instance = folder.write("mesh@4000.service", &unit);
    for path in [path, instance] {
        let verified = analyze(&["verify", "--man=no", &path]).unwrap();
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains("mesh")).collect();
        assert_eq!(about_it, Vec::<&str>::new());
        let rated = analyze(&["security", "--offline=yes", "--threshold=20", "--no-pager", &path]).unwrap();
        assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
    }
}

fn health(address: &str) -> Output {
    command(&["health", "--listen", address]).output().unwrap()
}

#[test]
fn health_command_reports_whether_the_server_is_ready() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let address = server.address.to_string();
    let ready = health(&address);
    assert_eq!(ready.status.code(), Some(0), "{ready:?}");
    assert!(String::from_utf8_lossy(&ready.stdout).starts_with(r#"{"ready":true"#));
    let unspecified = health(&format!("0.0.0.0:{}", server.address.port()));
    assert_eq!(unspecified.status.code(), Some(0), "the unspecified address is queried at loopback");
    let file = PathBuf::from(database.url().strip_prefix("sqlite:").unwrap());
    std::fs::rename(&file, file.with_extension("aside")).unwrap();
    // Results of checks are cached for a second.
    wait_until("the server is not ready", || health(&address).status.code() == Some(1));
    let away = health(&address);
    assert!(String::from_utf8_lossy(&away.stderr).contains("not ready (503)"), "{away:?}");
    assert_eq!(server.send(&Request::new("GET", "/healthz")).status, 200);
    drop(server);
    assert_eq!(health(&address).status.code(), Some(1), "no server listens");
    assert_eq!(health("nowhere").status.code(), Some(2));
}
