//! Queries in both formats: accepted ones print as a text that parses to the same query, and errors have a position
//! and a message.

use std::sync::OnceLock;

use mesh_plan::{Error, Mesh, Request};
use mesh_ql::{Format, Limits, Position, Query, ReadNode, Selection, parse, print_json, print_ql};

use super::identifiers;

/// Parses a text in the JSON format.
pub fn json(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        check(Format::Json, text);
    }
}

/// Parses a text in the brace format.
pub fn ql(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        check(Format::Ql, text);
    }
}

/// Plans a text in each format for a small schema, as a list and as a record.
pub fn plan(data: &[u8]) {
    static MESH: OnceLock<Mesh> = OnceLock::new();
    let mesh = MESH.get_or_init(|| Mesh::builder(identifiers::schema()).build().unwrap());
    let Ok(text) = std::str::from_utf8(data) else { return };
    for format in Format::ALL {
        for request in [Request::collection(format, text), Request::point(format, text, "1")] {
            match mesh.plan(&request) {
                Ok(plan) => {
                    identifiers::check(&plan);
                    assert!(!plan.to_string().is_empty());
                }
                Err(Error::Syntax(error)) => assert!(!error.to_string().is_empty()),
                Err(Error::Plan(error)) => assert!(!error.to_string().is_empty()),
                Err(_) => {}
            }
        }
    }
}

fn check(format: Format, text: &str) {
    let limits = Limits::default();
    let other = if format == Format::Json { Format::Ql } else { Format::Json };
    match parse(format, text, &limits) {
        Ok(query) => {
            let (fields, depth) = size(&query.root);
            assert!(fields <= limits.fields, "{fields} fields");
            assert!(depth <= limits.depth, "{depth} levels");
            check_round_trip(&query);
            assert!(parse(other, text, &limits).is_err(), "both formats accept the text");
        }
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!(error.message.len() < 4_000, "a message of {} bytes", error.message.len());
            let Position { line, column } = error.position;
            let lines = text.split('\n').count();
            assert!(line >= 1 && line as usize <= lines, "line {line} of {lines}");
            assert!(column >= 1);
            assert!(error.span.start <= error.span.end && error.span.end as usize <= text.len());
        }
    }
}

/// Checks that the query prints as a text that parses to it, which may be longer than the original.
fn check_round_trip(query: &Query) {
    let wide = Limits { query_bytes: usize::MAX, ..Limits::default() };
    let printed = print_json(query);
    assert_eq!(parse(Format::Json, &printed, &wide).as_ref(), Ok(query), "{printed}");
    if let Ok(printed) = print_ql(query) {
        assert_eq!(parse(Format::Ql, &printed, &wide).as_ref(), Ok(query), "{printed}");
    }
}

/// Returns the number of selected fields and relations, and the levels of relations.
fn size(node: &ReadNode) -> (usize, usize) {
    node.select.iter().fold((0, 0), |(fields, depth), selection| match selection {
        Selection::Field { .. } => (fields + 1, depth),
        Selection::Relation { node: below, .. } => {
            let (more, deeper) = size(below);
            (fields + 1 + more, depth.max(deeper + 1))
        }
    })
}
