//! The shared readings that have subscriptions, and the changes that refresh them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use futures_util::StreamExt as _;
use mesh_plan::change::Listener;
use mesh_plan::{Change, Changes};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::shared_reading::{SharedReading, SubscriptionKey};

/// Changes that are matched against readings one by one. A larger batch refreshes all readings.
const MAX_BATCH: usize = 256;

/// Readings by subscription. The registry listens for changes as long as there are readings.
pub(super) struct Registry {
    changes: Changes,
    state: Mutex<State>,
    emptied: Notify,
}

#[derive(Default)]
struct State {
    entries: HashMap<SubscriptionKey, Entry>,
    is_listening: bool,
}

struct Entry {
    reading: Arc<SharedReading>,
    subscriptions: usize,
}

impl Registry {
    pub(super) fn new(changes: Changes) -> Self {
        Self { changes, state: Mutex::default(), emptied: Notify::new() }
    }

    /// Returns the reading of a key. For the first subscription, `create` makes it.
    pub(super) fn join(
        self: &Arc<Self>,
        key: SubscriptionKey,
        create: impl FnOnce() -> SharedReading,
    ) -> Membership {
        let mut state = self.state.lock();
        let entry = match state.entries.entry(key) {
            MapEntry::Occupied(entry) => entry.into_mut(),
            MapEntry::Vacant(entry) => entry.insert(Entry { reading: Arc::new(create()), subscriptions: 0 }),
        };
        entry.subscriptions += 1;
        let reading = Arc::clone(&entry.reading);
        // Under the lock, so that every first reading starts after this.
        if !std::mem::replace(&mut state.is_listening, true) {
            tokio::spawn(Arc::clone(self).forward_changes(self.changes.listen()));
        }
        Membership { reading, registry: Arc::clone(self) }
    }

    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.entries.values().map(|entry| entry.subscriptions).sum(), state.entries.len())
    }

    fn leave(&self, key: &SubscriptionKey) {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.get_mut(key) else { return };
        entry.subscriptions -= 1;
        if entry.subscriptions == 0 {
            state.entries.remove(key);
        }
        if state.entries.is_empty() {
            self.emptied.notify_one();
        }
    }

    async fn forward_changes(self: Arc<Self>, mut listener: Listener) {
        loop {
            tokio::select! {
                change = listener.next() => {
                    let Some(first) = change else { return };
                    let mut batch = vec![first];
                    while let Some(change) = listener.try_next() {
                        if batch.len() < MAX_BATCH {
                            batch.push(change);
                        } else {
                            batch = vec![Change::anything()];
                        }
                    }
                    self.refresh_affected(&batch);
                }
                () = self.emptied.notified() => {
                    let mut state = self.state.lock();
                    if state.entries.is_empty() {
                        state.is_listening = false;
                        // Under the lock, so that the next listener starts after this one has ended.
                        drop(listener);
                        return;
                    }
                }
            }
        }
    }

    fn refresh_affected(&self, changes: &[Change]) {
        let readings: Vec<Arc<SharedReading>> =
            self.state.lock().entries.values().map(|entry| Arc::clone(&entry.reading)).collect();
        let mut affected = 0;
        for reading in readings {
            if changes.iter().any(|change| reading.is_affected_by(change)) {
                reading.refresh();
                affected += 1;
            }
        }
        tracing::debug!(changes = changes.len(), readings = affected, "events: refreshing");
    }
}

/// The membership of a subscription in a shared reading. The reading ends with its last subscription.
pub(super) struct Membership {
    pub(super) reading: Arc<SharedReading>,
    registry: Arc<Registry>,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.registry.leave(&self.reading.key);
    }
}
