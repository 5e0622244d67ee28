//! The base folder of relative paths, for each setting that names files.

use std::collections::BTreeSet;

use super::*;
use crate::config::print::PrintedValue;
use crate::config::sources::variable;
use crate::config::{Config, SettingsFile};

/// Each setting that names files: its path, a value, and that value in a file in `/etc/mesh`.
const SETTINGS: [(&str, &str, &str); 13] = [
    ("database", "sqlite:blog.db", "sqlite:/etc/mesh/blog.db"),
    ("replicas", "postgres://db/x?sslrootcert=ca.pem", "postgres://db/x?sslrootcert=/etc/mesh/ca.pem"),
    ("schema", "../schema.json", "/etc/mesh/../schema.json"),
    ("integrity.secret_file", "mesh.secret", "/etc/mesh/mesh.secret"),
    ("audit.store", "file:audit.log", "file:/etc/mesh/audit.log"),
    ("bearer.jwks", "file:keys.json", "file:/etc/mesh/keys.json"),
    ("bearer.secret_file", "bearer.secret", "/etc/mesh/bearer.secret"),
    ("persisted.preload", "queries.json", "/etc/mesh/queries.json"),
    ("uploads.store", "file:files", "file:/etc/mesh/files"),
    ("state.path", "blog.state", "/etc/mesh/blog.state"),
    (
        "postgres.pooler",
        "postgres://db/x?a=b&sslrootcert=my+ca%20%26.pem",
        "postgres://db/x?a=b&sslrootcert=/etc/mesh/my%2Bca%20%26.pem",
    ),
    ("tls.cert", "cert.pem", "/etc/mesh/cert.pem"),
    ("tls.key", "keys/key.pem", "/etc/mesh/keys/key.pem"),
];

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns the values of the settings of the table as they take effect.
fn values(environment: Vec<(String, String)>, file: &str) -> Vec<String> {
    let file = SettingsFile { path: "/etc/mesh/mesh.toml".into(), text: file.to_owned() };
    let loaded = Config::load(Vec::new(), environment, Some(&file));
    // Some of the settings exclude each other.
    assert_eq!(loaded.faulty, BTreeSet::new());
    let value = |path: &str| match &loaded.effective.0[path].value {
        PrintedValue::Toml(value) => value.to_string().trim_matches(['[', ']']).trim_matches('"').to_owned(),
        other => panic!("{path}: {other:?}"),
    };
    SETTINGS.iter().map(|(path, ..)| value(path)).collect()
}

#[test]
fn paths_in_a_file_are_relative_to_the_file() {
    let file: String =
        SETTINGS.iter().map(|(path, value, _)| format!("{path} = {}\n", quoted(value))).collect();
    let file = file.replace(&quoted(SETTINGS[1].1), &format!("[{}]", quoted(SETTINGS[1].1)));
    assert_eq!(values(Vec::new(), &file), SETTINGS.map(|(_, _, expected)| expected.to_owned()));
}

#[test]
fn paths_in_variables_are_relative_to_the_working_directory() {
    let variables = SETTINGS.map(|(path, value, _)| (variable(path), value.to_owned()));
    let folder = std::env::current_dir().unwrap().display().to_string();
    let expected = SETTINGS.map(|(_, _, expected)| expected.replace("/etc/mesh", &folder));
    assert_eq!(values(variables.into(), ""), expected);
}

#[test]
fn paths_in_flags_are_relative_to_the_working_directory() {
    let file = SettingsFile {
        path: "/etc/mesh/mesh.toml".into(),
        text: "database = \"other.db\"\nschema = \"other.json\"".to_owned(),
    };
    let flags = vec![("database", "sqlite:blog.db".to_owned()), ("schema", "schema.json".to_owned())];
    let config = Config::load(flags, [], Some(&file)).config.unwrap();
    assert_eq!(config.database.as_deref(), Some("sqlite:blog.db"));
    assert_eq!(config.schema.as_deref(), Some(Path::new("schema.json")));
}

#[test]
fn other_locations_are_unchanged() {
    for text in [
        "/srv/blog.db",
        "sqlite:/srv/blog.db",
        "sqlite:///srv/blog.db",
        "sqlite::memory:",
        "sqlite:",
        "file:/srv/files",
        "s3://bucket/prefix",
        "postgres://ada@db/x",
        "postgres://db/x?sslrootcert=/srv/ca.pem",
        "postgres://db/x?sslrootcert=system&sslmode=verify-full",
    ] {
        let location = Location::from(text.to_owned()).relative_to(Path::new("/etc/mesh"));
        assert_eq!(&*location, text);
    }
}

#[test]
fn path_without_a_scheme_is_a_file() {
    for (text, expected) in [
        ("blog.db", "/etc/mesh/blog.db"),
        ("./a:b.db", "/etc/mesh/./a:b.db"),
        ("sqlite://blog.db", "sqlite:/etc/mesh/blog.db"),
    ] {
        let location = Location::from(text.to_owned()).relative_to(Path::new("/etc/mesh"));
        assert_eq!(&*location, expected);
    }
}
