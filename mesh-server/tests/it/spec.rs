//! The tables of SPEC.md compared with the constants of the code: names, codes, statuses and limits.

use std::fs;
use std::path::Path;

use mesh_ql::{AggregateFn, CONTROLS, FilterOp, Limits};
use mesh_schema::FieldType;
use mesh_wire::{Code, ErrorKind, headers};

fn specification() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../SPEC.md")).unwrap()
}

/// Returns the text between two markers.
fn part<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("SPEC.md has no {from:?}"));
    rest.split_once(to).unwrap_or_else(|| panic!("SPEC.md has no {to:?} after {from:?}")).0
}

/// Returns the cells of the first table in a text, without its head.
fn table(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Returns the code spans of a text.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn operators_are_those_of_the_code() {
    let text = specification();
    let rows = table(part(&text, "7. **Operators**", "\n8. "));
    let mut listed: Vec<&str> = rows.iter().flat_map(|row| code(&row[0])).collect();
    let mut known: Vec<&str> = FilterOp::ALL.into_iter().map(FilterOp::as_str).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn controls_and_functions_are_those_of_the_code() {
    let text = specification();
    let rows = table(part(&text, "### Controls", "6. **Misplaced"));
    let listed: Vec<&str> = rows.iter().flat_map(|row| code(&row[0])).collect();
    let mut known: Vec<&str> = CONTROLS.into_iter().filter(|control| *control != "$select").collect();
    assert_eq!(listed.len(), known.len());
    known.retain(|control| !listed.contains(control));
    assert!(known.is_empty(), "not in the table: {known:?}");
    let aggregate = rows.iter().find(|row| row[0] == "`$aggregate`").unwrap();
    for function in AggregateFn::ALL {
        assert!(code(&aggregate[2]).contains(&function.as_str()), "{}", function.as_str());
    }
}

#[test]
fn types_are_those_of_the_code() {
    let text = specification();
    let listed = code(part(&text, "**Types** are", "A `bigint`"));
    let known: Vec<&str> = FieldType::ALL.into_iter().map(FieldType::as_str).collect();
    assert_eq!(listed, known);
}

#[test]
fn kinds_of_errors_and_their_statuses_are_those_of_the_code() {
    let text = specification();
    let rows = table(part(&text, "1. **Errors.**", "Where one kind has several causes"));
    let listed: Vec<&str> = rows.iter().map(|row| code(&row[0])[0]).collect();
    let known: Vec<&str> = ErrorKind::ALL.into_iter().map(ErrorKind::as_str).collect();
    assert_eq!(listed, known);
    for (row, kind) in rows.iter().zip(ErrorKind::ALL) {
        assert!(row[1].starts_with(kind.status().as_str()), "{}: {}", row[0], row[1]);
    }
}

#[test]
fn codes_of_errors_are_those_of_the_code() {
    let text = specification();
    let rows = table(part(&text, "Where one kind has several causes", "\n2. **Sizes"));
    let mut listed: Vec<&str> = rows.iter().flat_map(|row| code(&row[0])).collect();
    let mut known: Vec<&str> = Code::ALL.into_iter().map(Code::as_str).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
    for row in &rows {
        assert!(code(&row[1])[0].parse::<ErrorKind>().is_ok(), "{}", row[1]);
    }
}

#[test]
fn each_code_of_integrity_has_its_status() {
    let text = specification();
    let rows = table(part(&text, "6. **Failures**", "7. **Reach"));
    let listed: Vec<&str> = rows.iter().flat_map(|row| code(&row[1])).collect();
    let of_integrity = |name: &str| {
        let words = ["TOKEN", "SIGNATURE", "REPLAYED", "BAD_", "CONTENT_HASH", "QUERY_NOT", "FORBIDDEN"];
        words.iter().any(|word| name.starts_with(word))
    };
    for name in Code::ALL.into_iter().map(Code::as_str).filter(|name| of_integrity(name)) {
        assert!(listed.contains(&name), "{name} has no status");
    }
    assert!(listed.iter().all(|name| name.parse::<Code>().is_ok()), "{listed:?}");
}

#[test]
fn headers_are_those_of_the_code() {
    let text = specification();
    let rows = table(part(&text, "### Request headers", "### Errors"));
    let listed: Vec<&str> = rows.iter().flat_map(|row| code(&row[0])).collect();
    for name in headers::MESH {
        assert!(listed.contains(&name), "{name} is not in the table");
    }
    let own = listed.iter().filter(|name| name.starts_with("X-Mesh-"));
    assert!(own.clone().all(|name| headers::MESH.contains(name)), "{listed:?}");
    let caching = part(&text, "3. **Caching.**", "4. **Compression");
    for name in headers::VARY.split(", ") {
        assert!(caching.contains(name), "{name} is not in the list of Vary");
    }
}

/// Formats a number as SPEC.md does.
fn written(number: usize) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

#[test]
fn bounds_are_those_of_the_code() {
    let (text, limits, server) =
        (specification(), Limits::default(), mesh_server::TransportLimits::default());
    let plan = mesh_plan::Limits::default();
    let queries = part(&text, "5. **Bounds.**", "### Controls");
    let controls = part(&text, "11. **More bounds**", "12. **Aggregates");
    let sizes = part(&text, "2. **Sizes.**", "3. **Caching");
    let pages = part(&text, "10. **Pages.**", "11. **More");
    let said = [
        (queries, format!("at most {} KiB", limits.query_bytes / 1024)),
        (queries, format!("nest at most {} deep", limits.depth)),
        (queries, written(limits.fields)),
        (queries, format!("at most {} are relations", limits.relations)),
        (controls, format!("`first` is at most {}", limits.page_max)),
        (controls, format!("at most {} deep", limits.filter_depth)),
        (controls, format!("at most {} nodes", limits.filter_nodes)),
        (controls, format!("at most {} long", limits.in_values)),
        (controls, format!("at most {} group keys", limits.group_keys)),
        (controls, format!("{} aggregates", limits.aggregates)),
        (controls, written(plan.rows)),
        (pages, format!("pages of {}", plan.page_default)),
        (pages, format!("from 0 to {}", written(limits.skip as usize))),
        (sizes, format!("at most {} KiB", server.header_bytes / 1024)),
        (sizes, format!("at most {} MiB", server.body_bytes / (1024 * 1024))),
    ];
    for (place, words) in said {
        let place = place.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(place.contains(&words), "SPEC.md does not say {words:?} in: {place}");
    }
}
