//! An application that can be replaced while it is served.

use std::sync::Arc;

use tokio::sync::watch;

use crate::App;

/// A replaceable application for a [`crate::Server`]. Cheap to clone; clones share the application.
///
/// Requests under way complete on the application that they started with; later ones of the same connections are
/// answered by the new one. Sessions, pools and stores are shared if both applications are built with them.
#[derive(Clone, Debug)]
pub struct Current {
    sender: Arc<watch::Sender<App>>,
}

impl Current {
    /// Starts with an application.
    pub fn new(app: App) -> Self {
        Self { sender: Arc::new(watch::Sender::new(app)) }
    }

    /// Returns the current application.
    pub fn get(&self) -> App {
        self.sender.borrow().clone()
    }

    /// Replaces the application. Registered queries in memory are copied and planned again. Event streams end, so that
    /// their clients reconnect and are checked against the new schema.
    pub fn replace(&self, app: App) {
        copy_queries(&self.get(), &app);
        let old = self.sender.send_replace(app.clone());
        // Queries may have been registered meanwhile.
        copy_queries(&old, &app);
        if let Some(hub) = &old.shared.hub {
            hub.retire();
        }
    }

    /// Returns a copy for one connection.
    pub(crate) fn follow(&self) -> CurrentApp {
        let receiver = self.sender.subscribe();
        let app = Arc::new(receiver.borrow().clone());
        CurrentApp { receiver, app }
    }
}

impl From<App> for Current {
    fn from(app: App) -> Self {
        Self::new(app)
    }
}

/// A connection's copy of the application. It has its own reference count, so that requests of different threads do not
/// contend for a shared one.
pub(crate) struct CurrentApp {
    receiver: watch::Receiver<App>,
    app: Arc<App>,
}

impl CurrentApp {
    pub(crate) fn latest(&mut self) -> &Arc<App> {
        if self.receiver.has_changed().unwrap_or(false) {
            self.app = Arc::new(self.receiver.borrow_and_update().clone());
        }
        &self.app
    }
}

/// Copies registered queries without their plans.
fn copy_queries(old: &App, new: &App) {
    if let (Some(old), Some(new)) = (&old.shared.queries.persisted, &new.shared.queries.persisted) {
        new.adopt(old);
    }
}
