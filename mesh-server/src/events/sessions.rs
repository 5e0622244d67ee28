//! Monitors the sessions of open streams, which end with their session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_plan::BoxFuture;
use mesh_wire::WireError;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

/// How often each session is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Sessions that are checked concurrently.
const MAX_CHECKS: usize = 16;

/// Checks a session. An error means that the session has ended.
pub(crate) type SessionCheck = Arc<dyn Fn() -> BoxFuture<'static, Result<(), WireError>> + Send + Sync>;

/// Receives the error with which a session ends.
pub(super) type SessionEnd = watch::Receiver<Option<Arc<WireError>>>;

/// The monitored sessions by their id.
pub(super) struct Sessions {
    monitored: Mutex<HashMap<String, watch::Sender<Option<Arc<WireError>>>>>,
    permits: Semaphore,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self { monitored: Mutex::default(), permits: Semaphore::new(MAX_CHECKS) }
    }

    /// Starts checking a session, once for all of its streams, until the last returned receiver is dropped.
    pub(super) fn monitor(self: &Arc<Self>, session: &str, check: SessionCheck) -> SessionEnd {
        let mut monitored = self.monitored.lock();
        if let Some(sender) = monitored.get(session) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        monitored.insert(session.to_owned(), sender.clone());
        tokio::spawn(Arc::clone(self).check_until_unused(session.to_owned(), check, sender));
        receiver
    }

    async fn check_until_unused(
        self: Arc<Self>,
        session: String,
        check: SessionCheck,
        sender: watch::Sender<Option<Arc<WireError>>>,
    ) {
        loop {
            tokio::select! {
                () = sender.closed() => {
                    let mut monitored = self.monitored.lock();
                    if sender.receiver_count() == 0 {
                        monitored.remove(&session);
                        return;
                    }
                }
                () = tokio::time::sleep(CHECK_INTERVAL), if sender.borrow().is_none() => {
                    let Ok(_permit) = self.permits.acquire().await else { return };
                    if let Err(error) = check().await {
                        sender.send_replace(Some(Arc::new(error)));
                    }
                }
            }
        }
    }
}
