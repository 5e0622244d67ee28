//! The queries of the conformance cases, parsed without a server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use mesh_ql::{Format, Limits, parse, print_json};
use serde_json::Value;

/// A step that sends the query of the case unchanged.
struct Step {
    id: String,
    format: Format,
    text: String,
    expect: Value,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/cases");
    let all = ["L1", "L2"].iter().flat_map(|level| fs::read_dir(folder.join(level)).unwrap());
    let mut files: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for file in files() {
        let file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let id = case["id"].as_str().unwrap();
            steps.extend(case["steps"].as_array().unwrap().iter().filter_map(|step| step_of(id, step)));
        }
    }
    steps
}

fn step_of(id: &str, step: &Value) -> Option<Step> {
    let send = &step["send"];
    let is_read = send.get("method").is_none() && send.get("headers").is_none();
    let text = match send.get("query").filter(|_| is_read)? {
        Value::String(text) => text.clone(),
        query => query.to_string(),
    };
    let computed = text.contains("${") || text.contains("{\"@");
    let format =
        send.get("format").map_or("json", |format| format.as_str().unwrap_or_default()).parse().ok()?;
    (!computed).then(|| Step { id: id.to_owned(), format, text, expect: step["expect"].clone() })
}

#[test]
fn accepted_queries_parse_and_print_as_the_same_query() {
    let mut count = 0;
    for step in steps().iter().filter(|step| step.expect["status"] == 200) {
        let read = parse(step.format, &step.text, &Limits::default());
        let query = read.unwrap_or_else(|error| panic!("{}: {error}: {}", step.id, step.text));
        let printed = print_json(&query);
        let again = parse(Format::Json, &printed, &Limits::default());
        assert_eq!(again.as_ref(), Ok(&query), "{}: {printed}", step.id);
        count += 1;
    }
    assert!(count > 200, "only {count} queries");
}

#[test]
fn syntax_errors_have_the_expected_positions() {
    let mut count = 0;
    for step in steps().iter().filter(|step| step.expect["error"].get("line").is_some()) {
        let error = parse(step.format, &step.text, &Limits::default()).expect_err(&step.id);
        for (name, got) in [("line", error.position.line), ("column", error.position.column)] {
            match &step.expect["error"][name] {
                Value::Number(expected) => {
                    assert_eq!(Some(u64::from(got)), expected.as_u64(), "{}: {name}", step.id)
                }
                _ => assert!(got >= 1, "{}: {name}", step.id),
            }
        }
        count += 1;
    }
    assert!(count > 15, "only {count} errors");
}

#[test]
fn rules_about_the_text_are_checked_without_a_schema() {
    // Prefixes of the cases whose rules concern the text alone.
    let about_text =
        ["3.1-", "3.2-", "3.3-empty", "3.3-no-select", "3.3-select-", "3.8-and-", "3.8-or-", "3.8-alias-"];
    let mut count = 0;
    for step in steps() {
        if step.expect["status"] == 400 && about_text.iter().any(|begin| step.id.starts_with(begin)) {
            let read = parse(step.format, &step.text, &Limits::default());
            assert!(read.is_err(), "{}: {}", step.id, step.text);
            count += 1;
        }
    }
    assert!(count > 30, "only {count} queries");
}
