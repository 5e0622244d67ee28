//! Tests of the crate through its public interface.

mod hostile;
mod roundtrip;
mod tree;
mod wrong;
mod wrong_controls;
mod wrong_relational;

use crate::{Format, Limits, Position, SyntaxError, parse};

/// Formats an error for snapshots.
fn show(error: &SyntaxError) -> String {
    let Position { line, column } = error.position;
    let path = error.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    format!("{} @ {line}:{column}{path}", error.message)
}

/// Formats the errors of queries that must be refused, each below its query.
fn refusals<'q>(format: Format, queries: impl IntoIterator<Item = &'q str>) -> String {
    let mut text = String::new();
    for query in queries {
        let error = parse(format, query, &Limits::default()).expect_err(query);
        text.push_str(&format!("{query}\n    {}\n", show(&error)));
    }
    text
}
