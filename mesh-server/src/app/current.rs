//! Which application answers now? One that can be replaced while it is served.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use crate::App;

/// An application that another one may take the place of, for a [`crate::Server`]. Cheap to clone; all clones
/// are one.
///
/// Requests under way end on the application that they began with, and later ones of the same connections are
/// answered by the new one. What both have to share (sessions, pools, stores) is given to both by whoever makes
/// them.
#[derive(Clone)]
pub struct Current {
    sender: Arc<watch::Sender<App>>,
}

impl Current {
    /// Begins with that application.
    pub fn new(app: App) -> Self {
        Self { sender: Arc::new(watch::Sender::new(app)) }
    }

    /// The application that answers now.
    pub fn get(&self) -> App {
        self.sender.borrow().clone()
    }

    /// Has another application answer from now on. Registered queries that were kept in memory go on with it,
    /// planned anew. Streams of changes end, so that their clients come back and are checked against the new
    /// schema.
    pub fn replace(&self, app: App) {
        app.adopt_queries(&self.get());
        let old = self.sender.send_replace(app.clone());
        // What was registered while the first were copied.
        app.adopt_queries(&old);
        old.retire_streams();
    }

    /// What one connection knows of it.
    pub(crate) fn follow(&self) -> Following {
        let receiver = self.sender.subscribe();
        let app = receiver.borrow().clone();
        Following { receiver, app }
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

/// A connection's own copy: whether it is still the current one costs a look at one number.
pub(crate) struct Following {
    receiver: watch::Receiver<App>,
    app: App,
}

impl Following {
    /// The application that answers now.
    pub(crate) fn latest(&mut self) -> &App {
        if self.receiver.has_changed().unwrap_or(false) {
            self.app = self.receiver.borrow_and_update().clone();
        }
        &self.app
    }
}
