//! What is remembered of each key? A table of fixed size, so that no flood of keys can make it grow.

use std::sync::{Mutex, PoisonError};

use governor::nanos::Nanos;
use governor::state::StateStore;

/// Groups of places, with a lock each.
const GROUPS: usize = 8_192;
/// Places of one group; a key belongs to one group.
const PLACES: usize = 8;

/// For each key the time at which all its requests will have been paid off. A key that finds its group full takes
/// the place of the one that owes least: mostly one that owes nothing any more, and never one that is being
/// refused while there is another.
pub(super) struct Table {
    groups: Box<[Mutex<[Place; PLACES]>]>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    key: u64,
    /// 0: nobody's.
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
        // There is always a group; without one every request would be a first.
        let Some(group) = self.groups.get(*key as usize % GROUPS) else {
            return decide(None).map(|(passed, _)| passed);
        };
        let mut places = group.lock().unwrap_or_else(PoisonError::into_inner);
        let own = places.iter_mut().find(|place| place.key == *key && place.paid_off > 0);
        let (passed, paid_off) = decide(own.as_ref().map(|place| Nanos::from(place.paid_off)))?;
        let place = match own {
            Some(place) => Some(place),
            None => places.iter_mut().min_by_key(|place| place.paid_off),
        };
        if let Some(place) = place {
            *place = Place { key: *key, paid_off: paid_off.as_u64() };
        }
        Ok(passed)
    }
}
