//! Query text to syntax tree and back: parsers and printers of the two query formats.
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod build;
mod error;
mod format;
mod limits;
mod parse;
mod print;
mod query;
mod span;
mod suggest;
#[cfg(test)]
mod tests;

pub use error::SyntaxError;
pub use format::Format;
pub use limits::Limits;
pub use parse::parse;
pub use print::{NotQl, NotQlReason, print_json, print_json_pretty, print_ql};
pub use query::{
    Aggregate, AggregateFn, CONTROLS, Condition, Controls, Direction, Filter, FilterOp, Literal, Nulls,
    Operand, OrderBy, Page, Query, ReadNode, Selection, Subject,
};
pub use span::{Name, Position, Span, Spanned};
