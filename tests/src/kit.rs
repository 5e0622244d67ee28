//! The conformance kit: cases stored as data, and the code that runs them against a server.
//!
//! In reading order: [`case`] is the model of the files under `tests/conformance/`, [`expression`] evaluates the
//! templates and functions in them, [`compose`] builds requests, [`http`] sends them, [`matcher`] and [`expect`]
//! compare the responses, [`execute`] runs the steps of one case, [`run`] runs all cases, and [`report`] renders the
//! outcome. [`profile`] and [`target`] describe the server under test, [`mod@reference`] starts the server of this
//! repository, [`fixture`] generates the SQL of the rows that all cases use, and [`paragraphs`] finds the rules of
//! SPEC.md without a case.
//!
//! Invariants: a target is not trusted, so any response leads to a verdict and never to a panic. Encoding, hashing
//! and signing are implemented here a second time, from the specification alone.

pub mod case;
pub mod compose;
pub mod encoding;
pub mod execute;
pub mod expect;
pub mod expression;
pub mod failure;
pub mod http;
pub mod matcher;
pub mod reference;
pub mod report;
pub mod run;
pub mod target;

pub use case::{json_schema, paragraphs};
pub use http::stream;
pub use reference::fixture;
pub use target::profile;
