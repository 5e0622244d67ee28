//! Fuzz targets: one function for each parser of untrusted bytes, which panics if an invariant is violated.
//!
//! `cargo fuzz` runs them with coverage guidance, through the programs in `fuzz_targets`. On a stable compiler, the tests of
//! mesh-server include this file and run the inputs of `corpus` and random mutations of them. `cargo xtask fuzz` does
//! either for a given time.
//!
//! For each finding, add a test beside the fixed code and the input to the corpus.

mod bearers;
pub mod corpus;
mod cursor;
mod events;
mod headers;
mod identifiers;
mod multipart;
mod query;
mod router;
mod schema;
mod sessions;
mod whole;

/// A named target.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a program in `fuzz_targets` and a folder in `corpus`.
pub const TARGETS: [Target; 16] = [
    ("query_json", query::json),
    ("query_ql", query::ql),
    ("plan", query::plan),
    ("headers", headers::head),
    ("posted", headers::posted),
    ("cursor", cursor::cursor),
    ("token", sessions::token),
    ("signature", sessions::signature),
    ("bearer", bearers::bearer),
    ("multipart", multipart::multipart),
    ("statement", multipart::statement),
    ("schema", schema::document),
    ("join_on", schema::join),
    ("router", router::router),
    ("events", events::events),
    ("whole", whole::whole),
];

/// Runs a target.
///
/// # Panics
/// Panics if there is no such target, or an invariant is violated.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(target, _)| *target == name).expect("the name of a target");
    target.1(data);
}
