//! An application that can be replaced while it is served.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::App;

/// A replaceable application for a [`crate::Server`]. Cheap to clone; clones share the application.
///
/// Requests under way complete on the application that they started with; later ones of the same connections are
/// answered by the new one. Sessions, pools and stores are shared if both applications are built with them.
#[derive(Clone)]
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
        app.adopt_queries(&self.get());
        let old = self.sender.send_replace(app.clone());
        // Copies what was registered meanwhile.
        app.adopt_queries(&old);
        old.retire_streams();
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

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").finish_non_exhaustive()
    }
}

/// A connection's copy of the application. It has a reference count of its own, so that requests of different threads
/// do not contend for one.
pub(crate) struct CurrentApp {
    receiver: watch::Receiver<App>,
    app: Arc<App>,
}

impl CurrentApp {
    /// Returns the current application.
    pub(crate) fn latest(&mut self) -> &Arc<App> {
        if self.receiver.has_changed().unwrap_or(false) {
            self.app = Arc::new(self.receiver.borrow_and_update().clone());
        }
        &self.app
    }
}
