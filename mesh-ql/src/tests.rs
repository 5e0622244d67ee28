//! Tests of the crate through its public interface.

mod hostile;
mod roundtrip;
mod tree;
mod wrong;
mod wrong_controls;
mod wrong_relational;

use expect_test::Expect;

use crate::{Format, Limits, Position, SyntaxError, parse};

/// Formats an error for snapshots.
fn show(error: &SyntaxError) -> String {
    let Position { line, column } = error.position;
    let path = error.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    format!("{} @ {line}:{column}{path}", error.message)
}

/// Checks the errors of queries that must be refused. Each line of the table that is not indented is a query, to which
/// `complete` adds what all queries have; its error follows.
#[track_caller]
fn check_refusals(format: Format, table: &Expect, complete: impl Fn(&str) -> String) {
    let lines = || table.data().lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let mut text = String::new();
    for query in lines().map(|line| &line[indent..]).filter(|line| !line.starts_with("    ")) {
        let error = parse(format, &complete(query), &Limits::default()).expect_err(query);
        text.push_str(&format!("{query}\n    {}\n", show(&error)));
    }
    assert!(!text.is_empty(), "the table has no queries");
    table.assert_eq(&text);
}
