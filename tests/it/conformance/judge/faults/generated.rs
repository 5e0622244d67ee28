//! Faults that are generated from tables and from the responses in a recording.

mod checks;
mod edges;
mod features;
mod headers;
mod logic;
mod values;

pub(super) use features::{has_aggregated_relation, has_path, text_of};

use super::Fault;
use crate::conformance::judge::recording::Recording;

/// Returns all of them.
pub(super) fn all(recording: &Recording) -> Vec<Fault> {
    let faults = [
        features::faults(),
        headers::faults(),
        edges::faults(),
        logic::faults(),
        checks::faults_from(recording),
        values::faults_from(recording),
    ];
    faults.into_iter().flatten().collect()
}
