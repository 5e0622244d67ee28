//! What did the client ask? The text of a query becomes a [`Query`], or an error that says where it is wrong.
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod build;
mod error;
mod format;
mod json;
mod limits;
mod place;
mod print;
mod ql;
mod query;
mod suggest;
#[cfg(test)]
mod tests;

pub use error::SyntaxError;
pub use format::Format;
pub use limits::Limits;
pub use print::{NotQl, NotQlReason, print_json, print_json_pretty, print_ql};
pub use query::{
    Aggregate, AggregateFn, CONTROLS, Condition, Controls, Direction, Filter, FilterOp, Literal, Nulls,
    Operand, OrderBy, Page, Query, ReadNode, Selection, Subject,
};

/// Reads a query that is written in `format`, holding every bound of `limits` while it reads.
///
/// Bounds on nesting above [`Limits::MAX_DEPTH`] and [`Limits::MAX_FILTER_DEPTH`] count as these.
///
/// # Errors
///
/// The first fault in the text, with its place: wrong syntax, a rule of `SPEC §3` or `§4` that needs no
/// schema, or a passed bound.
pub fn parse(format: Format, text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    if text.len() > limits.query_bytes {
        let bound = limits.query_bytes;
        let message =
            format!("The query is {} bytes long, past the bound `query_bytes` ({bound})", text.len());
        return Err(SyntaxError { message, path: None, line: None, column: None });
    }
    let limits = Limits {
        depth: limits.depth.min(Limits::MAX_DEPTH),
        filter_depth: limits.filter_depth.min(Limits::MAX_FILTER_DEPTH),
        ..*limits
    };
    match format {
        Format::Json => json::parse(text, &limits),
        Format::Ql => ql::parse(text, &limits),
    }
}
