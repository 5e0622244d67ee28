//! Has this query been planned before? A bounded cache from query text to plan.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use mesh_ql::Format;

use crate::plan::Root;
use crate::planner::Kind;

/// Plans by what they were made from, those of later pages by what is the same in all of them: hardly any cursor
/// is sent twice. It holds two generations: when the newer one is full it becomes the older, and what is used
/// of the older moves on to the newer; so what is asked for often stays.
pub(crate) struct PlanCache {
    capacity: usize,
    generations: RwLock<[Generation; 2]>,
}

type Generation = HashMap<Box<str>, Arc<Root>, RandomState>;

impl PlanCache {
    /// A cache of about that many plans; of none with 0.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, generations: RwLock::default() }
    }

    /// The plan of that text, if it is there.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<Root>> {
        let older = {
            let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(root) = newer.get(key) {
                return Some(Arc::clone(root));
            }
            Arc::clone(older.get(key)?)
        };
        self.keep(key, &older);
        Some(older)
    }

    /// Keeps the plan of a text.
    pub(crate) fn keep(&self, key: &str, root: &Arc<Root>) {
        if self.capacity == 0 {
            return;
        }
        let [newer, older] = &mut *self.generations.write().unwrap_or_else(PoisonError::into_inner);
        if newer.len() >= self.capacity.div_ceil(2) {
            *older = std::mem::take(newer);
        }
        newer.insert(key.into(), Arc::clone(root));
    }

    /// How many plans it holds.
    pub(crate) fn len(&self) -> usize {
        let [newer, older] = &*self.generations.read().unwrap_or_else(PoisonError::into_inner);
        newer.len() + older.len()
    }
}

/// The class of whoever asks, if there are classes; one letter for format and kind; then the text. A class begins
/// with a digit, so none of these parts can be taken for another.
pub(crate) fn key(class: &str, format: Format, kind: Kind, text: &str) -> String {
    let prefix = match (format, kind) {
        (Format::Json, Kind::Point) => 'p',
        (Format::Json, Kind::Collection) => 'c',
        (Format::Ql, Kind::Point) => 'P',
        (Format::Ql, Kind::Collection) => 'C',
    };
    let mut key = String::with_capacity(class.len() + text.len() + 1);
    key.push_str(class);
    key.push(prefix);
    key.push_str(text);
    key
}
