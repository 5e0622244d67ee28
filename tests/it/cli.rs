//! Output and exit statuses of the commands, for databases of every kind.

mod databases;
mod mistakes;
mod policy_test;
mod queries;
mod roles;
mod schemas;
mod settings;
mod terminal;
mod usage;

use std::process::Output;

use mesh_tests::{Database, run};
use serde_json::Value;

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts the exit status, and each of the texts on standard error.
fn assert_fails(output: &Output, status: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{said}{}", stdout(output));
    for word in words {
        assert!(said.contains(word), "{word:?} expected in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// Asserts that a check found faults that contain each of the texts; reports all that are missing.
fn assert_finds(output: &Output, words: &[&str]) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    let missing: Vec<&&str> = words.iter().filter(|word| !said.contains(**word)).collect();
    assert!(missing.is_empty(), "{missing:?} expected in: {said}");
}

fn introspect(database: &Database) -> Value {
    let output = run(&["introspect", "--database", &database.url()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a schema document")
}
