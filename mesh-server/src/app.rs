//! The application: everything that answers requests, independent of the listener.

pub(crate) mod build_error;
pub(crate) mod builder;
pub(crate) mod caching;
pub(crate) mod current;
pub(crate) mod exports;
pub(crate) mod fallback;
mod ids;
pub(crate) mod limits;
pub(crate) mod options;
pub(crate) mod reply_future;
pub(crate) mod service;
pub(crate) mod shared;

use std::sync::Arc;

use shared::Shared;

/// An application that answers requests, built with [`App::builder`]. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) shared: Arc<Shared>,
}

impl App {
    /// Ends all event streams and refuses new ones, for the shutdown of a server.
    pub fn end_streams(&self) {
        if let Some(hub) = &self.shared.hub {
            hub.close();
        }
    }

    /// Waits until the writes and logouts whose clients have left are completed and recorded, for the shutdown of a server.
    pub async fn effects_ended(&self) {
        self.shared.options.client_limits.effects.ended().await;
    }
}
