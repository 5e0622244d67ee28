//! The number of requests whose effects are under way, for which a shutdown waits.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts requests from when their effects begin until they are reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectCount(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    under_way: usize,
    /// Whether what has not begun to commit is given up.
    is_stopping: bool,
}

impl EffectCount {
    /// Counts a request until the returned value is dropped. Returns `None` after [`Self::stop`].
    pub(crate) fn begin(&self) -> Option<EffectGuard> {
        let has_begun = self.0.send_if_modified(|state| {
            state.under_way += usize::from(!state.is_stopping);
            !state.is_stopping
        });
        has_begun.then(|| EffectGuard(Arc::clone(&self.0)))
    }

    /// Gives up what has not begun to commit, and lets nothing more begin.
    pub(crate) fn stop(&self) {
        self.0.send_modify(|state| state.is_stopping = true);
    }

    /// Lets effects begin again, for another server with the same application.
    pub(crate) fn resume(&self) {
        self.0.send_modify(|state| state.is_stopping = false);
    }

    /// Waits until [`Self::stop`] is called.
    pub(crate) async fn stopped(&self) {
        self.wait_for(|state| state.is_stopping).await;
    }

    /// Waits until no request is counted.
    pub(crate) async fn ended(&self) {
        self.wait_for(|state| state.under_way == 0).await;
    }

    async fn wait_for(&self, condition: impl FnMut(&State) -> bool) {
        // The sender is not dropped meanwhile.
        let _ = self.0.subscribe().wait_for(condition).await;
    }
}

/// A counted request.
pub(crate) struct EffectGuard(Arc<watch::Sender<State>>);

impl Drop for EffectGuard {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.under_way -= 1);
    }
}
