//! Does the crate keep its promises, seen from outside?

mod hostile;
mod roundtrip;
mod tree;
mod wrong;
mod wrong_controls;

use crate::{Format, Limits, SyntaxError, parse};

/// An error as the snapshots show it.
fn show(error: &SyntaxError) -> String {
    let place = match (error.line, error.column) {
        (Some(line), Some(column)) => format!("{line}:{column}"),
        _ => "-".to_owned(),
    };
    let path = error.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    format!("{} @ {place}{path}", error.message)
}

/// The errors of queries that must be refused, each below its query.
fn refusals<'q>(format: Format, queries: impl IntoIterator<Item = &'q str>) -> String {
    let mut text = String::new();
    for query in queries {
        let error = parse(format, query, &Limits::default()).expect_err(query);
        text.push_str(&format!("{query}\n    {}\n", show(&error)));
    }
    text
}
