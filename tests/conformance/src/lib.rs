//! The conformance kit: cases stored as data, and the code that runs them against a server.
//!
//! In reading order: [`case`] is the model of the files under `tests/conformance/cases/`, [`expression`] evaluates the
//! templates and functions in them, [`compose`] builds requests, [`http`] sends them, [`matcher`] and [`expect`]
//! compare the responses, [`execute`] runs the steps of one case, [`run`] runs all cases, and [`report`] renders the
//! outcome. [`profile`] and [`target`] describe the server under test, [`fixture`] generates the SQL of the rows that
//! all cases use, and [`paragraphs`] finds the rules of SPEC.md without a case.
//!
//! Invariants: this crate depends on no other crate of the workspace, so a bug cannot cancel itself out by being on
//! both sides. A target is not trusted, so any response leads to a verdict and never to a panic. Encoding, hashing and
//! signing are implemented here a second time, from the specification alone.

#![expect(clippy::expect_used, clippy::panic, reason = "the client of the tests fails its test by panicking")]

pub mod case;
pub mod compose;
pub mod encoding;
pub mod execute;
pub mod expect;
pub mod expression;
pub mod failure;
pub mod fixture;
pub mod http;
pub mod matcher;
pub mod report;
pub mod run;
pub mod target;

pub use case::{json_schema, paragraphs};
pub use http::stream;
pub use target::profile;
