//! The state of a rate limiter: a hash table of fixed size, so that many keys cannot exhaust memory.

use std::sync::{Mutex, PoisonError};

use governor::nanos::Nanos;
use governor::state::StateStore;

/// Groups of slots, with a lock each.
const GROUPS: usize = 8_192;
/// Slots of one group. A key belongs to one group.
const SLOTS: usize = 8;

/// The time at which the requests of each key are paid off. A new key in a full group replaces the one with the earliest
/// time: usually one whose requests are paid off, and one that is being refused only if all others are, too.
pub(super) struct Table {
    groups: Box<[Mutex<[Slot; SLOTS]>]>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    /// 0 if the slot is unused.
    paid_off: u64,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { groups: (0..GROUPS).map(|_| Mutex::default()).collect() }
    }
}

impl StateStore for Table {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, key: &u64, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        // The index is always in range.
        let Some(group) = self.groups.get(*key as usize % GROUPS) else {
            return decide(None).map(|(passed, _)| passed);
        };
        let mut slots = group.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.iter_mut().find(|slot| slot.key == *key && slot.paid_off > 0);
        let (passed, paid_off) = decide(known.as_ref().map(|slot| Nanos::from(slot.paid_off)))?;
        let slot = match known {
            Some(slot) => Some(slot),
            None => slots.iter_mut().min_by_key(|slot| slot.paid_off),
        };
        if let Some(slot) = slot {
            *slot = Slot { key: *key, paid_off: paid_off.as_u64() };
        }
        Ok(passed)
    }
}
