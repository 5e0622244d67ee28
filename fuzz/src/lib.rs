//! What holds whatever bytes come? A function for each place where bytes of strangers are read, which panics
//! where a promise is broken.
//!
//! Two things drive them: `cargo fuzz`, guided by coverage, through the programs in `fuzz_targets`, and on a
//! stable compiler the tests of mesh-server, which include this file, run every input of `corpus`, and many
//! random changes of these. `cargo xtask fuzz` does either for as long as one likes.
//!
//! A find becomes a test beside the code that was at fault, and its input a file of the corpus.

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

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each has a program in `fuzz_targets` and a folder in `corpus`.
pub const TARGETS: [Target; 15] = [
    ("query_json", query::json),
    ("query_ql", query::ql),
    ("plan", query::plan),
    ("headers", headers::head),
    ("posted", headers::posted),
    ("cursor", cursor::cursor),
    ("token", sessions::token),
    ("signature", sessions::signature),
    ("multipart", multipart::multipart),
    ("statement", multipart::statement),
    ("schema", schema::document),
    ("join_on", schema::join),
    ("router", router::router),
    ("events", events::events),
    ("whole", whole::whole),
];

/// Runs the target of that name.
///
/// # Panics
/// Where there is none, and where a promise is broken.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(own, _)| *own == name).expect("the name of a target");
    target.1(data);
}
