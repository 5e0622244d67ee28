//! A cache of answers, each valid until the database changes.
//!
//! An answer is kept with the [`DataVersion`] that it was read from, and is served only while that is the current one.
//! Nothing expires, and no write of any process is missed. Only answers that depend on plan, target and database alone are
//! kept: not those with values of a session, nor those that code computes.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use foldhash::fast::RandomState;
use mesh_plan::{JsonBody, Node, Output, Plan, PlanId, Target, TemplatePiece, Value};

use crate::data_version::DataVersion;
use mesh_plan::Usage;

/// Parts with a lock each, so that threads seldom wait for one another.
const PARTS: usize = 16;
/// What an entry takes beside its body, more or less.
const ENTRY: usize = 256;
/// A body above this part of the whole is not kept: it would push out too many others.
const LARGEST: usize = 16;

/// Bodies by plan and target, of so many bytes in all.
pub(crate) struct ResponseCache {
    bytes: usize,
    parts: [Mutex<Part>; PARTS],
    hasher: RandomState,
}

/// Two generations: when the newer one has half of the bytes it becomes the older, and what is used of the
/// older moves on to the newer; so what is asked for often stays.
#[derive(Default)]
struct Part {
    newer: Entries,
    older: Entries,
    /// Bytes in `newer`.
    bytes: usize,
    /// The state that was seen last, and its number: entries of other numbers are worth nothing.
    state: Option<DataVersion>,
    number: u64,
    hits: u64,
}

type Entries = HashMap<Key, Entry, RandomState>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// Not the plan itself: once the plan cache drops it, the query gets another one, and this entry is not
    /// found any more.
    plan: PlanId,
    target: Id,
}

/// What a read is aimed at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Collection,
    Integer(i64),
    Text(Box<str>),
}

struct Entry {
    number: u64,
    body: JsonBody,
}

impl Key {
    /// None for a later page: it shares its plan's identity with others, and hardly any is asked for twice.
    fn of(plan: &Plan) -> Option<Self> {
        if plan.after().is_some() {
            return None;
        }
        let target = match plan.target() {
            Target::Collection => Id::Collection,
            Target::Point(Value::Integer(id)) => Id::Integer(*id),
            Target::Point(Value::Text(id)) => Id::Text(id.as_str().into()),
            Target::Point(_) => return None,
        };
        Some(Self { plan: plan.id().clone(), target })
    }
}

impl ResponseCache {
    /// A cache of that many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes, parts: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::default() }
    }

    fn with<T>(&self, key: &Key, run: impl FnOnce(&mut Part) -> T) -> Option<T> {
        let part = self.parts.get(self.hasher.hash_one(key) as usize % PARTS)?;
        Some(run(&mut part.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// How many answers it holds, their bytes, and how often it had the one that was wanted.
    pub(crate) fn fill(&self, usage: &mut Usage) {
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let older: usize = part.older.values().map(|entry| entry.body.bytes.len() + ENTRY).sum();
            usage.answers += part.newer.len() + part.older.len();
            usage.bytes += part.bytes + older;
            usage.hits += part.hits;
        }
    }

    /// The answer to a plan in that state of the database, if it is known.
    pub(crate) fn find(&self, plan: &Plan, state: &DataVersion) -> Option<JsonBody> {
        let key = Key::of(plan)?;
        self.with(&key, |part| {
            let found = part.find(&key, state);
            part.hits += u64::from(found.is_some());
            found
        })
        .flatten()
    }

    /// Keeps the answer to a plan, read in that state, where it may be shown to others. It comes back with the
    /// digest that is kept with it.
    pub(crate) fn keep(&self, plan: &Plan, state: DataVersion, mut body: JsonBody) -> JsonBody {
        let size = body.bytes.len() + ENTRY;
        let most = self.bytes / PARTS / 2;
        if size > (self.bytes / LARGEST).min(most) || !is_lasting(plan) {
            return body;
        }
        let Some(key) = Key::of(plan) else { return body };
        body.digest = Some(JsonBody::digest(&body.bytes));
        // A copy of just the right size: what was read may lie in a much larger piece of memory.
        let kept = JsonBody { bytes: Bytes::copy_from_slice(&body.bytes), ..body.clone() };
        let old = self.with(&key.clone(), |part| {
            let number = part.number(&state);
            let old = if part.bytes + size > most { part.turn() } else { Entries::default() };
            part.bytes += size;
            part.newer.insert(key, Entry { number, body: kept });
            old
        });
        forget(old);
        body
    }
}

impl Part {
    /// The number of a state. One that is not the last that was seen is a new one, whatever came before it.
    fn number(&mut self, state: &DataVersion) -> u64 {
        if self.state.as_ref() != Some(state) {
            self.state = Some(*state);
            self.number += 1;
        }
        self.number
    }

    fn find(&mut self, key: &Key, state: &DataVersion) -> Option<JsonBody> {
        let number = self.number(state);
        if let Some(entry) = self.newer.get(key) {
            return (entry.number == number).then(|| entry.body.clone());
        }
        let entry = self.older.remove(key).filter(|entry| entry.number == number)?;
        let body = entry.body.clone();
        self.bytes += body.bytes.len() + ENTRY;
        self.newer.insert(key.clone(), entry);
        Some(body)
    }

    /// The next generation; the last but one comes back.
    fn turn(&mut self) -> Entries {
        self.bytes = 0;
        std::mem::replace(&mut self.older, std::mem::take(&mut self.newer))
    }
}

/// Drops many entries where that holds up nobody.
fn forget(entries: Option<Entries>) {
    if let Some(entries) = entries.filter(|entries| !entries.is_empty())
        && let Ok(runtime) = tokio::runtime::Handle::try_current()
    {
        runtime.spawn_blocking(move || drop(entries));
    }
}

/// Whether the answer depends on the plan, its target and the database alone, and may be asked for again.
fn is_lasting(plan: &Plan) -> bool {
    !plan.uses_session() && !has_code(plan.node())
}

fn has_code(node: &Node) -> bool {
    let computed = node.output.iter().filter_map(|output| match output {
        Output::Computed { template, .. } => Some(template),
        _ => None,
    });
    let mut pieces = computed.flatten();
    pieces.any(|piece| matches!(piece, TemplatePiece::Code { .. }))
        || node.joins.iter().any(|join| has_code(&join.node))
}
