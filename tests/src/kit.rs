//! Does a server keep the protocol? The judge: cases that are data, and what carries them out.
//!
//! In reading order: [`case`] is the model of the files under `tests/conformance/`, [`expression`] works out what
//! templates and functions in them stand for, [`compose`] makes requests, [`http`] sends them, [`matcher`] and
//! [`expect`] look at what comes back, [`perform`] goes through the steps of a case, [`run`] through all cases,
//! and [`report`] writes down the outcome. [`profile`] and [`target`] say who is judged, [`mod@reference`] starts the
//! server of this repository, [`fixture`] makes SQL of the rows that all cases are about, and [`paragraphs`]
//! tells which rules of SPEC.md no case has.
//!
//! Invariants: nothing of a target is trusted, so whatever comes back ends as a verdict and never as a panic.
//! Encoding, hashing and signing are written here once more, from the specification alone.

pub mod case;
pub mod compose;
pub mod expect;
pub mod expression;
pub mod fixture;
pub mod http;
pub mod matcher;
pub mod paragraphs;
pub mod perform;
pub mod profile;
pub mod reference;
pub mod report;
pub mod run;
pub mod shape;
pub mod stream;
pub mod target;
pub mod trouble;
pub mod wire;
