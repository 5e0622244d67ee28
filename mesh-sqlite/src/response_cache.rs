//! A cache of answers, each valid until the database changes.
//!
//! An answer is kept with the [`DataVersion`] that it was read from, and is served only while that version is current.
//! Entries do not expire, and no write of any process is missed. An answer is kept only if it depends on nothing but
//! the plan, the target and the database: answers with values of a session or fields computed by code are not kept.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use mesh_plan::backend::{Cache, PlanKey, Usage};
use mesh_plan::plan::{Output, TemplatePiece};
use mesh_plan::{JsonBody, Node, Plan};

use crate::file::data_version::DataVersion;

/// The approximate size of an entry in bytes, without its body.
const ENTRY_BYTES: usize = 256;
/// The largest answer is the size of the cache divided by this number: a few larger answers would displace all others.
const LARGEST_PART: usize = 16;

/// Bodies by plan and target, bounded by their size.
pub(crate) struct ResponseCache {
    entries: Cache<PlanKey, Entry>,
    /// The largest answer in bytes.
    largest: usize,
    hits: AtomicU64,
}

#[derive(Clone)]
struct Entry {
    version: DataVersion,
    body: JsonBody,
}

impl ResponseCache {
    /// Creates a cache of this size in bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { entries: Cache::new(bytes), largest: bytes / LARGEST_PART, hits: AtomicU64::new(0) }
    }

    /// Adds the number of answers, their size and the number of hits to usage figures.
    pub(crate) fn add_usage(&self, usage: &mut Usage) {
        usage.answers += self.entries.len();
        usage.bytes += self.entries.weight();
        usage.hits += self.hits.load(Ordering::Relaxed);
    }

    /// Returns whether the cache is on and answers to a plan are worth a place: later pages are rarely read twice.
    fn may_have(&self, plan: &Plan) -> bool {
        self.largest > 0 && plan.cursor().is_none()
    }

    /// Returns the answer to a plan that was read from this version of the database.
    pub(crate) fn get(&self, plan: &Plan, version: DataVersion) -> Option<JsonBody> {
        if !self.may_have(plan) {
            return None;
        }
        let entry = self.entries.get(&plan.key())?;
        if entry.version != version {
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(entry.body)
    }

    /// Adds the answer to a plan that was read from this version, if other requests may receive it. Returns the answer,
    /// with its digest if it was added.
    pub(crate) fn insert(&self, plan: &Plan, version: DataVersion, mut body: JsonBody) -> JsonBody {
        let size = body.bytes.len() + ENTRY_BYTES;
        let is_too_large = size > self.largest || !self.entries.accepts(size);
        if !self.may_have(plan) || is_too_large || plan.uses_session() || runs_code(plan.node()) {
            return body;
        }
        let key = plan.key();
        let size = size + key.bytes();
        body.digest = Some(JsonBody::digest(&body.bytes));
        // The body may be part of a much larger allocation.
        let bytes = Bytes::copy_from_slice(&body.bytes);
        self.entries.insert(key, Entry { version, body: JsonBody { bytes, ..body.clone() } }, size);
        body
    }
}

/// Returns whether code computes a field, so that its value may change while the database does not.
fn runs_code(node: &Node) -> bool {
    let computed = node.output.iter().filter_map(|output| match output {
        Output::Computed { template, .. } => Some(template),
        _ => None,
    });
    let mut pieces = computed.flatten();
    pieces.any(|piece| matches!(piece, TemplatePiece::Code { .. }))
        || node.joins.iter().any(|join| runs_code(&join.node))
}
