//! Query text to syntax tree and back: parsers and printers of the two query formats.
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod build;
mod error;
mod limits;
mod named_enum;
mod params;
mod parse;
mod print;
mod query;
mod span;
#[cfg(test)]
mod tests;

pub use error::SyntaxError;
pub use limits::Limits;
pub use named_enum::UnknownName;
pub use params::{ParamValue, ParamValues};
pub use parse::{Format, parse};
pub use print::{NotQl, NotQlReason, print_json, print_ql};
pub use query::{
    Aggregate, AggregateFn, Bucket, CONTROLS, Condition, Controls, Direction, Filter, FilterOp, GroupKey,
    Literal, Nulls, Operand, OrParam, OrderBy, OrderKey, Page, Quantifier, Query, ReadNode,
    RelationCondition, SearchOrder, Selection, Subject, TimeUnit,
};
pub use span::{Name, Position, Span, Spanned};
